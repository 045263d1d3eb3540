# SPDX-License-Identifier: Apache-2.0
"""Medians, standard errors and ratios of the runs; the table, and what is wanted."""
import math
import statistics


def summary(values):
    """Median and its standard error, None for one value alone."""
    error = None
    if len(values) > 1:
        # The median of n normal values scatters by 1.25 of what their mean does.
        error = 1.2533 * statistics.stdev(values) / math.sqrt(len(values))
    return {"median": statistics.median(values), "error": error, "n": len(values)}


class Row:
    """All runs of one profiler on one variant."""

    def __init__(self):
        self.runs, self.troubles, self.not_tested = [], [], []

    def summaries(self):
        keys = {key for run in self.runs for key in run
                if not isinstance(run[key], str)}
        return {key: summary([run[key] for run in self.runs if key in run])
                for key in sorted(keys)}


def ratio_to(row, own, key):
    """How many times forkflame's figure, by the medians."""
    if row is own or not own or not own.runs or not row.runs:
        return None
    one, two = row.summaries().get(key), own.summaries().get(key)
    if not one or not two or two["median"] <= (two["error"] or 0):
        return None  # nothing that could be divided by
    ratio, errors = one["median"] / two["median"], 0
    for each in (one, two):
        if each["error"] is None or each["median"] == 0:
            return {"ratio": ratio, "error": None}
        errors += (each["error"] / each["median"]) ** 2
    return {"ratio": ratio, "error": abs(ratio) * math.sqrt(errors)}


def own_name(name, names):
    """Whom to compare with: forkflame on the same Python."""
    return "forkflame-3.15" if name.startswith("sampling") and \
        "forkflame-3.15" in names else "forkflame"


def cell(found, form):
    if not found:
        return "-"
    text = form % found["median"]
    if found["error"]:
        text += " ±" + form % found["error"]
    return text


def show_variant(case, rows):
    heads = ["profiler", "n"] + [head for _, head, _ in case.columns]
    key_head = next(head for key, head, _ in case.columns if key == case.key)
    lines = [heads + [key_head.strip() + " / forkflame's"]]
    for name, row in rows.items():
        if not row.runs:
            continue
        sums = row.summaries()
        line = [name, str(len(row.runs))]
        line += [cell(sums.get(key), form) for key, _, form in case.columns]
        ratio = ratio_to(row, rows.get(own_name(name, rows)), case.key)
        text = "%.1f" % ratio["ratio"] if ratio else "-"
        if ratio and ratio["error"]:
            text += " ±%.1f" % ratio["error"]
        lines.append(line + [text if name != "none" else "-"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + line[0].ljust(widths[0]) + "".join(
            "  " + text.rjust(width) for text, width in zip(line[1:], widths[1:])))
    show_notes(rows)


def show_notes(rows):
    for name, row in rows.items():
        for run in row.runs:
            if "example" in run:
                print("  %s, for instance: %s" % (name, run["example"]))
                break
        for why in sorted(set(row.not_tested)):
            print("  %s: not tested: %s" % (name, why))
        for why in sorted(set(row.troubles)):
            print("  %s, %d of %d: no figures: %s" % (
                name, row.troubles.count(why), len(row.runs) + len(row.troubles), why))


def name_of(variant):
    return " ".join(str(word) for word in variant if word != "") or "idle"


def show_case(case, variants):
    print("\n%s\n%s" % (case.title, "=" * len(case.title)))
    print(case.about)
    for variant, rows in variants.items():
        print("\n%s %s" % (case.name, name_of(variant)))
        show_variant(case, rows)
    for line in case.more({variant: {name: row.summaries() for name, row in rows.items()}
                           for variant, rows in variants.items()}):
        print(line)


def as_json(case, variants):
    """A list of objects: each figure of each profiler on each variant."""
    found = []
    for variant, rows in variants.items():
        for name, row in rows.items():
            found.append({"case": case.name, "variant": list(variant), "profiler": name,
                          "figures": row.summaries(), "troubles": row.troubles,
                          "not_tested": row.not_tested,
                          "compared": case.key, "ratio": ratio_to(
                              row, rows.get(own_name(name, rows)), case.key)})
    return found


# What forkflame wants to reach: case, the variant or its beginning, figure, at most,
# at least. Ratios and counts; CPU as a share of a core.
WANTED = [
    ("slowdown", (20, 100), "slow_pct", 1, None),
    ("slowdown", (20, 1000, "busy"), "slow_pct", 5, None),
    ("slowdown", (20, 1000, ""), "slow_pct", 10, None),
    ("slowdown", (20, 1000), "us", 30, None),
    ("kids", (100, 50), "sampled", None, 100),
    ("kids", (100, 50), "share", 1.05, .95),
    ("kids", (100, 50), "p_ms", 200, None),
    ("kids", (100, 10), "sampled", None, 98),
    ("pool", (1000,), "p_pct", 2, None),
    ("pool", (10000,), "p_pct", 5, None),
    ("attach", ("",), "first_ms", 5, None),
    ("stacks", (), "impossible", 0, None),
    ("stacks", (), "rootless", 0, None),
    ("eintr", (), "eintr", 0, None),
    ("signals", (), "lost", 0, None),
    ("signals", (), "unordered", 0, None),
]


def goals(results):
    """(text, reached) of each that was measured; @results is a list by as_json."""
    found = []
    for case, begin, figure, most, least in WANTED:
        for one in results:
            if (one["case"] != case or one["profiler"] != "forkflame" or
                    tuple(one["variant"][:len(begin)]) != begin or
                    figure not in one["figures"]):
                continue
            seen = one["figures"][figure]["median"]
            good = ((most is None or seen <= most) and (least is None or seen >= least))
            bounds = [text % bound for text, bound in
                      (("at most %g", most), ("at least %g", least)) if bound is not None]
            found.append(("%s %s: %s %.4g, wanted %s" % (
                case, " ".join(str(word) for word in one["variant"]), figure, seen,
                " and ".join(bounds)), good))
    return found


def behind(results):
    """Where a peer is ahead of forkflame, by more than twice the standard error; so
    not where there was one round."""
    found = []
    for one in results:
        ratio = one["ratio"]
        if (ratio and not one["profiler"].startswith(("forkflame", "none")) and
                ratio["error"] is not None and
                ratio["ratio"] + 2 * ratio["error"] < 1):
            found.append("%s %s: %s has %.2f of forkflame's %s" % (
                one["case"], " ".join(str(word) for word in one["variant"]),
                one["profiler"], ratio["ratio"], one["compared"]))
    return found
