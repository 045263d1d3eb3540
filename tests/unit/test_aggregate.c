/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/strtab.h"
#include "profile/aggregate.h"

struct fixture {
	struct strtab *strings;
	struct aggregate *agg;
};

static int begin(void **state)
{
	static struct fixture f;

	f.strings = strtab_new();
	f.agg = f.strings ? aggregate_new(f.strings) : NULL;
	*state = &f;
	return f.agg ? 0 : -1;
}

static int end(void **state)
{
	struct fixture *f = *state;

	aggregate_free(f->agg);
	strtab_free(f->strings);
	return 0;
}

static uint32_t add_entry(struct fixture *f, int32_t pid)
{
	struct agg_entry entry = { .pid = pid, .processes = 1 };

	return aggregate_entry_new(f->agg, &entry);
}

/* A frame that differs from those of other @n. */
static struct frame frame_of(uint32_t n)
{
	return (struct frame){ .function = n, .file = 7, .line = 3 };
}

static void keeps_one_node_for_a_stack_seen_twice(void **state)
{
	struct fixture *f = *state;
	struct frame stack[] = { frame_of(2), frame_of(1) };
	uint32_t process = add_entry(f, 10);
	uint32_t node = aggregate_stack(f->agg, process, stack, 2);

	assert_int_equal(aggregate_count(f->agg), 3);
	assert_int_equal(aggregate_stack(f->agg, process, stack, 2), node);
	assert_int_equal(aggregate_count(f->agg), 3);
	assert_int_equal(aggregate_frame_count(f->agg), 2);
}

static void puts_the_outermost_frame_next_to_the_entry(void **state)
{
	struct fixture *f = *state;
	struct frame stack[] = { frame_of(2), frame_of(1) };
	uint32_t process = add_entry(f, 10);
	uint32_t leaf = aggregate_stack(f->agg, process, stack, 2);
	const struct node *inner = aggregate_node(f->agg, leaf);
	const struct node *outer = aggregate_node(f->agg, inner->parent);

	assert_int_equal(aggregate_frame(f->agg, inner->frame).function, 2);
	assert_int_equal(aggregate_frame(f->agg, outer->frame).function, 1);
	assert_int_equal(outer->parent, process);
	assert_int_equal(outer->child, leaf);
}

static void charges_a_stack_without_frames_to_the_entry(void **state)
{
	struct fixture *f = *state;
	uint32_t process = add_entry(f, 10);
	struct weight weight = { .wall_ns = 5, .cpu_ns = 3, .samples = 1 };

	assert_int_equal(aggregate_stack(f->agg, process, NULL, 0), process);
	aggregate_charge(f->agg, process, weight, 2);
	aggregate_charge(f->agg, process, weight, 2);
	assert_int_equal(aggregate_node(f->agg, process)->self.wall_ns, 10);
	assert_int_equal(aggregate_node(f->agg, process)->self.cpu_ns, 6);
	assert_int_equal(aggregate_node(f->agg, process)->self.samples, 2);
	assert_int_equal(aggregate_node(f->agg, process)->gil_ns, 4);
}

static void weighs_a_stack_apart_from_the_one_below_it(void **state)
{
	struct fixture *f = *state;
	struct frame stack[] = { frame_of(2), frame_of(1) };
	uint32_t process = add_entry(f, 10);
	uint32_t leaf = aggregate_stack(f->agg, process, stack, 2);
	uint32_t outer = aggregate_stack(f->agg, process, stack + 1, 1);

	aggregate_charge(f->agg, leaf, (struct weight){ .wall_ns = 9 }, 0);
	assert_int_equal(aggregate_node(f->agg, outer)->self.wall_ns, 0);
	assert_int_equal(aggregate_node(f->agg, leaf)->parent, outer);
}

static void keeps_what_is_compared_apart(void **state)
{
	struct fixture *f = *state;
	uint32_t entry = add_entry(f, 10);
	struct weight weight = { .wall_ns = 5, .cpu_ns = 3, .samples = 1 };
	const struct node *node;

	aggregate_charge_base(f->agg, entry, weight, 4);
	aggregate_charge_base(f->agg, entry, weight, 4);
	node = aggregate_node(f->agg, entry);
	assert_int_equal(node->base.wall_ns, 10);
	assert_int_equal(node->base.cpu_ns, 6);
	assert_int_equal(node->base.samples, 2);
	assert_int_equal(node->base_gil_ns, 8);
	assert_int_equal(node->self.wall_ns, 0);
	assert_int_equal(node->gil_ns, 0);
}

static void finds_a_child_among_many(void **state)
{
	struct fixture *f = *state;
	uint32_t entry = add_entry(f, 10);
	uint32_t nodes[1000];

	for (uint32_t i = 0; i < 1000; i++) {
		struct frame frame = frame_of(i);

		nodes[i] = aggregate_child(f->agg, i % 2 ? nodes[i - 1] : entry,
					   &frame);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		struct frame frame = frame_of(i);

		assert_int_equal(aggregate_child(f->agg,
						 i % 2 ? nodes[i - 1] : entry,
						 &frame),
				 nodes[i]);
	}
	assert_int_equal(aggregate_count(f->agg), 1001);
}

static void tells_frames_apart_by_function_file_and_line(void **state)
{
	struct fixture *f = *state;
	struct frame frames[] = {
		{ .function = 1, .file = 2, .line = 3 },
		{ .function = 9, .file = 2, .line = 3 },
		{ .function = 1, .file = 9, .line = 3 },
		{ .function = 1, .file = 2, .line = -3 },
		{ .function = 2, .file = 1, .line = 3 },
	};
	uint32_t process = add_entry(f, 10);

	for (size_t i = 0; i < 5; i++)
		aggregate_stack(f->agg, process, &frames[i], 1);
	assert_int_equal(aggregate_count(f->agg), 6);
	assert_int_equal(aggregate_frame_count(f->agg), 5);
	for (uint32_t i = 0; i < 5; i++) {
		struct frame frame = aggregate_frame(f->agg, i);

		assert_int_equal(frame.function, frames[i].function);
		assert_int_equal(frame.file, frames[i].file);
		assert_int_equal(frame.line, frames[i].line);
	}
}

static void keeps_entries_apart(void **state)
{
	struct fixture *f = *state;
	struct frame stack = frame_of(1);
	uint32_t first = add_entry(f, 10);
	uint32_t second = add_entry(f, 10);
	uint32_t a = aggregate_stack(f->agg, first, &stack, 1);
	uint32_t b = aggregate_stack(f->agg, second, &stack, 1);

	assert_int_not_equal(first, second);
	assert_int_not_equal(a, b);
	assert_int_equal(aggregate_node(f->agg, a)->frame,
			 aggregate_node(f->agg, b)->frame);
}

static void lets_an_entry_be_changed_later(void **state)
{
	struct fixture *f = *state;
	struct frame stack = frame_of(1);
	uint32_t process = add_entry(f, 10);
	uint32_t node = aggregate_stack(f->agg, process, &stack, 1);

	aggregate_entry_at(f->agg, process)->left_ns = 77;
	assert_int_equal(aggregate_entry(f->agg, process)->left_ns, 77);
	assert_int_equal(aggregate_entry(f->agg, process)->pid, 10);
	assert_null(aggregate_entry_at(f->agg, node));
	assert_null(aggregate_entry(f->agg, AGGREGATE_NONE));
}

static void has_each_parent_before_its_children(void **state)
{
	struct fixture *f = *state;
	struct frame stack[30];
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 40; i++) {
		uint32_t process = add_entry(f, (int32_t)i);

		for (uint32_t k = 0; k < 30; k++)
			stack[k] = frame_of(i * k % 11);
		aggregate_stack(f->agg, process, stack, 30);
		aggregate_stack(f->agg, process, stack, 20);
		aggregate_stack(f->agg, process, stack, 10);
	}
	for (uint32_t i = 0; i < aggregate_count(f->agg); i++) {
		const struct node *node = aggregate_node(f->agg, i);

		assert_true(node->parent == AGGREGATE_NONE || node->parent < i);
		for (uint32_t c = node->child; c != AGGREGATE_NONE;
		     c = aggregate_node(f->agg, c)->sibling, seen++)
			assert_int_equal(aggregate_node(f->agg, c)->parent, i);
	}
	assert_int_equal(seen + 40, aggregate_count(f->agg));
}

static void ignores_what_belongs_to_no_node(void **state)
{
	struct fixture *f = *state;
	struct frame frame = frame_of(1);

	aggregate_charge(f->agg, AGGREGATE_NONE,
			 (struct weight){ .samples = 1 }, 0);
	aggregate_charge_base(f->agg, 0, (struct weight){ .samples = 1 }, 0);
	assert_int_equal(aggregate_child(f->agg, 0, &frame), AGGREGATE_NONE);
	assert_int_equal(aggregate_count(f->agg), 0);
	assert_null(aggregate_node(f->agg, 0));
	assert_int_equal(aggregate_frame(f->agg, 0).function, 0);
	assert_ptr_equal(aggregate_strings(f->agg), f->strings);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_one_node_for_a_stack_seen_twice),
		TEST(puts_the_outermost_frame_next_to_the_entry),
		TEST(charges_a_stack_without_frames_to_the_entry),
		TEST(weighs_a_stack_apart_from_the_one_below_it),
		TEST(keeps_what_is_compared_apart),
		TEST(finds_a_child_among_many),
		TEST(tells_frames_apart_by_function_file_and_line),
		TEST(keeps_entries_apart),
		TEST(lets_an_entry_be_changed_later),
		TEST(has_each_parent_before_its_children),
		TEST(ignores_what_belongs_to_no_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
