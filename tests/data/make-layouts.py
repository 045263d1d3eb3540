#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/python/layout_table.h and debugoffsets_table.h from facts.

The facts are the files layouts/VERSION.txt ("t" at the end of a version: a
free-threaded build), each a few lines of one interpreter's debugging
information: offset, hex, size, field, type, under the structure's name.

	make-layouts.py                       write the tables from layouts/
	make-layouts.py add VERSION ELF       layouts/VERSION.txt from a libpython
	                                      or python with DWARF, through gdb
	make-layouts.py add VERSION DUMP.txt  the same from a dump of that shape

A new minor version: `add` it, give it a line in CONSTANTS, run without
arguments, build. `add` says what it could not find.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAYOUTS = os.path.join(HERE, 'layouts')
PYTHON = os.path.join(HERE, '..', '..', 'src', 'python')

# Structure as DWARF names it -> the fields that we have a use for. Fields that
# a version does not have are left out of its file.
KEEP = {
    'struct pyruntimestate': [
        'interpreters.head', 'gilstate.tstate_current'],
    'struct _is': [
        'next', 'id', 'tstate_head', 'threads.head', 'ceval.gil',
        'modules', 'imports.modules',
        'tstate_next_unique_id', 'threads.next_unique_id'],
    'struct _gil_runtime_state': ['last_holder', 'locked'],
    'struct _ts': [
        'next', 'interp', 'frame', 'cframe', 'current_frame', 'base_frame',
        'thread_id', 'native_thread_id', 'datastack_chunk'],
    '_PyCFrame': ['current_frame', 'previous'],
    '_PyStackChunk': ['previous', 'size', 'top', 'data'],
    'struct _frame': ['f_back', 'f_code', 'f_lasti'],
    'struct _PyInterpreterFrame': [
        'previous', 'f_code', 'f_executable', 'prev_instr', 'instr_ptr',
        'owner', 'is_entry', 'tlbc_index'],
    'PyCodeObject': [
        'co_filename', 'co_name', 'co_qualname', 'co_firstlineno', 'co_lnotab',
        'co_linetable', 'co_code', 'co_code_adaptive', 'co_tlbc'],
    '_PyCodeArray': ['size', 'entries'],
    'PyObject': ['ob_type'],
    'PyVarObject': ['ob_size'],
    'PyBytesObject': ['ob_sval'],
    'PyStringObject': ['ob_size', 'ob_shash', 'ob_sval'],
    'PyTypeObject': ['tp_name', 'tp_basicsize', 'tp_flags', 'tp_dictoffset'],
    'PyHeapTypeObject': ['ht_cached_keys'],
    'PyModuleObject': ['md_dict'],
    'PyDictObject': ['ma_keys', 'ma_values', 'ma_mask', 'ma_table'],
    'PyDictKeysObject': [
        'dk_size', 'dk_log2_size', 'dk_log2_index_bytes', 'dk_kind',
        'dk_nentries', 'dk_indices'],
    'struct _dictvalues': ['values'],
    'PyASCIIObject': [
        'length', 'hash', 'state', 'state.kind', 'state.compact',
        'state.ascii'],
    'PyCompactUnicodeObject': [],
    'PyUnicodeObject': ['data', 'data.any'],
    'struct _Py_DebugOffsets': [
        'cookie', 'version', 'free_threaded',
        'runtime_state.size', 'runtime_state.interpreters_head',
        'interpreter_state.size', 'interpreter_state.id',
        'interpreter_state.next', 'interpreter_state.threads_head',
        'interpreter_state.imports_modules',
        'interpreter_state.ceval_gil', 'interpreter_state.gil_runtime_state',
        'interpreter_state.gil_runtime_state_locked',
        'interpreter_state.gil_runtime_state_holder',
        'thread_state.size', 'thread_state.next', 'thread_state.interp',
        'thread_state.current_frame', 'thread_state.base_frame',
        'thread_state.thread_id', 'thread_state.native_thread_id',
        'thread_state.datastack_chunk',
        'interpreter_frame.size', 'interpreter_frame.previous',
        'interpreter_frame.executable', 'interpreter_frame.instr_ptr',
        'interpreter_frame.owner', 'interpreter_frame.tlbc_index',
        'code_object.size', 'code_object.filename', 'code_object.name',
        'code_object.qualname', 'code_object.linetable',
        'code_object.firstlineno', 'code_object.co_code_adaptive',
        'code_object.co_tlbc',
        'pyobject.size', 'pyobject.ob_type',
        'type_object.size', 'type_object.tp_name',
        'bytes_object.size', 'bytes_object.ob_size', 'bytes_object.ob_sval',
        'unicode_object.size', 'unicode_object.state', 'unicode_object.length',
        'unicode_object.asciiobject_size',
        'unicode_object.compactunicodeobject_size'],
}

# What DWARF does not say, by version: the values of `owner` of which the frame
# is no Python code (Include/internal/pycore_frame.h, pycore_interpframe*.h:
# FRAME_OWNED_BY_CSTACK 3 in 3.12 and 3.13; INTERPRETER 3 and CSTACK 4 in 3.14;
# INTERPRETER 3 in 3.15), how many values there are, and the tag bits of a
# _PyStackRef (Py_TAG_BITS of pycore_stackref.h; plain pointers before 3.14).
CONSTANTS = {
    '2.7': ((), 0, 0), '3.6': ((), 0, 0), '3.7': ((), 0, 0),
    '3.8': ((), 0, 0), '3.9': ((), 0, 0), '3.10': ((), 0, 0),
    '3.11': ((), 3, 0),
    '3.12': ((3,), 4, 0),
    '3.13': ((3,), 4, 0), '3.13t': ((3,), 4, 0),
    '3.14': ((3, 4), 5, 3), '3.14t': ((3, 4), 5, 1),
    '3.15': ((3,), 4, 3), '3.15t': ((3,), 4, 3),
}

GDB_SCRIPT = r'''
import gdb, json, os
KEEP = json.loads(os.environ['LAYOUTS_KEEP'])

def find(name):
    for n in (name, name.replace('_PyStackChunk', 'struct _stack_chunk')):
        try:
            return gdb.lookup_type(n).strip_typedefs()
        except gdb.error:
            pass
    try:
        # In no file of 3.11+ that gdb looks into by that name.
        if name == 'PyBytesObject':
            t = gdb.lookup_type('struct pyruntimestate')
            for part in (('global_objects', 'static_objects'),
                         ('singletons',), ('bytes_empty',)):
                names = [f.name for f in t.fields()]
                t = [t[p].type for p in part if p in names][0]
            return t.strip_typedefs()
    except (gdb.error, IndexError):
        pass
    return None

for name, fields in KEEP.items():
    t = find(name)
    if t is None or t.code != gdb.TYPE_CODE_STRUCT:
        continue
    print('@== %s  (%s) sizeof=%d' % (name, t, t.sizeof))
    for path in fields:
        at, bits, inner = 0, None, t
        try:
            for part in path.split('.'):
                f = inner[part]
                at, bits = at + f.bitpos // 8, None
                if f.bitsize:
                    bits = (f.bitsize, f.bitpos % (8 * f.type.sizeof))
                    at = at - f.bitpos // 8 + (
                        f.bitpos // 8 // f.type.sizeof * f.type.sizeof)
                kind, inner = f.type, f.type.strip_typedefs()
        except (KeyError, TypeError, gdb.error):
            continue
        print('@%6d %#-8x%4d  %-60s %s%s' % (
            at, at, inner.sizeof, path, kind,
            ' bits%d@%d' % bits if bits else ''))
'''


class Facts:
    """One file: structure -> field -> (offset, size, bit), and sizes."""

    def __init__(self):
        self.size = {}
        self.fields = {}
        self.lines = {}

    def feed(self, lines):
        struct = None
        for line in lines:
            head = re.match(r'== (.+?)  \(.*\) sizeof=(\d+)', line)
            if head:
                struct = head.group(1)
                if struct == 'CFrame':  # 3.10 has one, without current_frame
                    struct = '_PyCFrame'
                self.size[struct] = int(head.group(2))
                self.fields[struct] = {}
                self.lines[struct] = []
                continue
            m = re.match(r'\s*(\d+) 0x[0-9a-f]+\s+(\d+)\s+(\S+)\s*(.*)', line)
            if not m or struct is None:
                continue
            bits = re.search(r'bits\d+@(\d+)$', m.group(4).rstrip())
            self.fields[struct][m.group(3)] = (
                int(m.group(1)), int(m.group(2)),
                int(bits.group(1)) if bits else 0)
            self.lines[struct].append((m.group(3), line.rstrip()))
        return self

    def bytes_from_runtime(self):
        """PyBytesObject by the empty bytes in _PyRuntime, where it has one."""
        for where in ('global_objects', 'static_objects'):
            base = where + '.singletons.bytes_empty'
            rt = self.fields.get('struct pyruntimestate', {})
            if 'PyBytesObject' not in self.fields and base in rt:
                at = rt[base + '.ob_sval'][0] - rt[base][0]
                self.feed([
                    '== PyBytesObject  (struct {...}) sizeof=%d' % rt[base][1],
                    '%6d %#-8x%4d  %-60s char [1]' % (at, at, 1, 'ob_sval')])

    def at(self, struct, *names):
        for name in names:
            if name in self.fields.get(struct, {}):
                return self.fields[struct][name][0]
        return None

    def end(self, struct, *names):
        """Bytes that hold all of these fields."""
        have = self.fields[struct]
        return max(have[n][0] + have[n][1] for n in names if n in have)


def add(version, path):
    with open(path, 'rb') as f:
        is_elf = f.read(4) == b'\x7fELF'
    if is_elf:
        import json
        with tempfile.NamedTemporaryFile('w', suffix='.py') as script:
            script.write(GDB_SCRIPT)
            script.flush()
            out = subprocess.run(
                ['gdb', '-nx', '-batch', '-x', script.name, path],
                env=dict(os.environ, LAYOUTS_KEEP=json.dumps(KEEP)),
                stdout=subprocess.PIPE, universal_newlines=True,
                check=True).stdout
        lines = [l[1:] for l in out.splitlines() if l.startswith('@')]
        origin = 'DWARF of %s, read by gdb' % os.path.basename(path)
    else:
        with open(path) as f:
            lines = f.read().splitlines()
        origin = 'a dump of its DWARF'
    facts = Facts().feed(lines)
    facts.bytes_from_runtime()
    os.makedirs(LAYOUTS, exist_ok=True)
    with open(os.path.join(LAYOUTS, version + '.txt'), 'w') as out:
        out.write('# CPython %s, x86_64: %s.\n' % (version, origin))
        out.write('# Offset, hex, size, field, type; by make-layouts.py.\n')
        for struct, keep in KEEP.items():
            if struct not in facts.fields:
                if struct != 'PyStringObject':  # 2.7 has no other
                    print('%s: no %s' % (version, struct))
                continue
            out.write('== %s  (-) sizeof=%d\n' % (struct, facts.size[struct]))
            for name, line in facts.lines[struct]:
                if name in keep:
                    out.write(re.sub(r' {3,}(?=\S+( \S+)*$)', '  ',
                                     line) + '\n')


def strings(major, facts):
    """The part of a row on the strings that code objects have."""
    if major < 3:
        string = 'PyStringObject'
        return [
            ('str.is_bytes', 'true'),
            ('str.length', facts.at(string, 'ob_size')),
            ('str.hash', facts.at(string, 'ob_shash')),
            ('str.state', None),
            ('str.ascii_data', facts.at(string, 'ob_sval')),
            ('str.compact_data', None), ('str.legacy_data', None),
        ]
    state = facts.at('PyASCIIObject', 'state')

    def shift(field):
        at, _, bit = facts.fields['PyASCIIObject']['state.' + field]
        return 8 * (at - state) + bit

    return [
        ('str.is_bytes', 'false'),
        ('str.length', facts.at('PyASCIIObject', 'length')),
        ('str.hash', facts.at('PyASCIIObject', 'hash')),
        ('str.state', state),
        ('str.ascii_data', facts.size['PyASCIIObject']),
        ('str.compact_data', facts.size['PyCompactUnicodeObject']),
        ('str.legacy_data', facts.at('PyUnicodeObject', 'data', 'data.any')),
        ('str.kind_shift', shift('kind')),
        ('str.compact_shift', shift('compact')),
        ('str.ascii_shift', shift('ascii')),
    ]


def dicts(major, minor, facts):
    """The part of a row on dictionaries, and on where attributes are."""
    keys, a_type = 'PyDictKeysObject', 'PyTypeObject'
    if major < 3:
        kind = 'DICT_TABLE'
    elif keys not in facts.fields:
        kind = 'DICT_UNKNOWN'
    else:
        kind = 'DICT_SIZE' if minor < 11 else 'DICT_LOG2'
    return [
        ('dict.kind', kind),
        ('dict.keys', facts.at('PyDictObject', 'ma_table', 'ma_keys')),
        ('dict.values', facts.at('PyDictObject', 'ma_values')),
        ('dict.mask', facts.at('PyDictObject', 'ma_mask')),
        ('dict.size', facts.at(keys, 'dk_size', 'dk_log2_size')),
        ('dict.index_bytes', facts.at(keys, 'dk_log2_index_bytes')),
        ('dict.entry_kind', facts.at(keys, 'dk_kind')),
        ('dict.n', facts.at(keys, 'dk_nentries')),
        ('dict.indices', facts.at(keys, 'dk_indices')),
        # Up to 3.10 the values are a plain array.
        ('dict.values_data', facts.at('struct _dictvalues', 'values')
         if 'struct _dictvalues' in facts.fields else 0),
        ('attrs.kind', 'ATTRS_DICT' if minor < 11 else
         'ATTRS_POINTERS' if minor < 12 else
         'ATTRS_TAGGED' if minor < 13 else 'ATTRS_INLINE'),
        ('attrs.flags', facts.at(a_type, 'tp_flags')),
        ('attrs.basicsize', facts.at(a_type, 'tp_basicsize')),
        ('attrs.dictoffset', facts.at(a_type, 'tp_dictoffset')),
        ('attrs.keys', facts.at('PyHeapTypeObject', 'ht_cached_keys')),
        # The first field behind the object's head, where the file lacks it.
        ('attrs.module_dict', facts.at('PyModuleObject', 'md_dict')
         if 'PyModuleObject' in facts.fields else facts.size['PyObject']),
    ]


def row(name, facts):
    """One version's row: a list of (designator, value)."""
    skip, limit, tags = CONSTANTS[name]
    major, minor = [int(n) for n in name.rstrip('t').split('.')]
    old = minor < 11
    frame = 'struct _frame' if old else 'struct _PyInterpreterFrame'
    code = ('co_filename', 'co_name', 'co_qualname', 'co_firstlineno',
            'co_lnotab' if minor < 10 else 'co_linetable', 'co_tlbc')
    instr = ('f_lasti', 'prev_instr', 'instr_ptr')
    is_, ts = 'struct _is', 'struct _ts'
    has_runtime = (major, minor) >= (3, 7)
    # What `_PyStackRef` and `_PyStackChunk` have in 3.11 and later only.
    chunk = None if old else '_PyStackChunk'
    return [
        ('major', major), ('minor', minor),
        ('free_threaded', 'true' if name.endswith('t') else 'false'),
        ('frame_kind', 'FRAME_OBJECT' if old else
         'FRAME_CFRAME' if minor < 13 else 'FRAME_CURRENT'),
        ('lines_kind', 'LINES_LNOTAB_UNSIGNED' if major < 3 else
         'LINES_LNOTAB' if minor < 10 else
         'LINES_LINETABLE' if minor < 11 else 'LINES_LOCATIONS'),
        ('runtime.exists', 'true' if has_runtime else 'false'),
        ('runtime.interp_head',
         facts.at('struct pyruntimestate', 'interpreters.head')
         if has_runtime else 0),
        # It moved with 3.7.4, and a 3.7 does not tell its patch level.
        ('runtime.tstate_current',
         facts.at('struct pyruntimestate', 'gilstate.tstate_current')
         if 8 <= minor < 12 else None),
        ('interp.next', facts.at(is_, 'next')),
        ('interp.id', facts.at(is_, 'id')),
        ('interp.thread_head', facts.at(is_, 'tstate_head', 'threads.head')),
        ('interp.gil', facts.at(is_, 'ceval.gil')),
        ('interp.modules', facts.at(is_, 'modules', 'imports.modules')),
        ('interp.next_thread_id',
         facts.at(is_, 'tstate_next_unique_id', 'threads.next_unique_id')),
        ('gil.last_holder',
         facts.at('struct _gil_runtime_state', 'last_holder')
         if minor >= 12 else None),
        ('gil.locked', facts.at('struct _gil_runtime_state', 'locked')
         if minor >= 12 else None),
        ('thread.next', facts.at(ts, 'next')),
        ('thread.interp', facts.at(ts, 'interp')),
        ('thread.frame',
         facts.at(ts, 'frame', 'current_frame', *([] if old else ['cframe']))),
        # An evaluation's own structure, which lies on the stack of the C code.
        ('thread.c_stack', facts.at(ts, 'cframe')),
        ('thread.base_frame', facts.at(ts, 'base_frame')),
        ('thread.thread_id', facts.at(ts, 'thread_id')),
        ('thread.native_id', facts.at(ts, 'native_thread_id')),
        ('thread.datastack_chunk', facts.at(ts, 'datastack_chunk')),
        ('cframe.current', facts.at('_PyCFrame', 'current_frame')
         if 11 <= minor < 13 else None),
        ('cframe.previous', facts.at('_PyCFrame', 'previous')
         if 11 <= minor < 13 else None),
        ('chunk.previous', facts.at(chunk, 'previous')),
        ('chunk.size', facts.at(chunk, 'size')),
        ('chunk.top', facts.at(chunk, 'top')),
        ('chunk.data', facts.at(chunk, 'data')),
        ('frame.previous', facts.at(frame, 'f_back', 'previous')),
        ('frame.code', facts.at(frame, 'f_code', 'f_executable')),
        ('frame.instr', facts.at(frame, *instr)),
        ('frame.owner', facts.at(frame, 'owner')),
        ('frame.is_entry', facts.at(frame, 'is_entry')),
        ('frame.tlbc_index', facts.at(frame, 'tlbc_index')),
        ('frame.size', facts.end(
            frame, 'f_back', 'previous', 'f_code', 'f_executable', 'owner',
            'is_entry', 'tlbc_index', *instr)),
        ('owner_skip', '%#x' % sum(1 << n for n in skip)),
        ('owner_limit', limit), ('tag_mask', tags),
        ('instr_scale', 2 if minor == 10 else 1),
        ('code.filename', facts.at('PyCodeObject', 'co_filename')),
        ('code.name', facts.at('PyCodeObject', 'co_name')),
        ('code.qualname', facts.at('PyCodeObject', 'co_qualname')),
        ('code.firstlineno', facts.at('PyCodeObject', 'co_firstlineno')),
        ('code.linetable', facts.at('PyCodeObject', code[4])),
        ('code.code', facts.at('PyCodeObject', 'co_code')),
        ('code.bytecode', facts.at('PyCodeObject', 'co_code_adaptive')),
        ('code.tlbc', facts.at('PyCodeObject', 'co_tlbc')),
        ('code.size', facts.end('PyCodeObject', *code)),
        ('tlbc.n', facts.at('_PyCodeArray', 'size')),
        ('tlbc.entries', facts.at('_PyCodeArray', 'entries')),
        ('object.type', facts.at('PyObject', 'ob_type')),
        ('object.bytes_size', facts.at('PyVarObject', 'ob_size')),
        ('object.bytes_data', facts.at('PyBytesObject', 'ob_sval')
         if major > 2 else facts.at('PyStringObject', 'ob_sval')),
        ('object.type_name', facts.at('PyTypeObject', 'tp_name')),
    ] + strings(major, facts) + dicts(major, minor, facts)


# Without these a version cannot be read at all.
REQUIRED = ('runtime.interp_head', 'interp.', 'thread.next', 'thread.interp',
            'thread.frame', 'thread.thread_id', 'frame.previous', 'frame.code',
            'frame.instr', 'code.filename', 'code.name', 'code.firstlineno',
            'code.linetable', 'object.', 'str.length', 'str.hash',
            'str.ascii_data')
OPTIONAL = ('interp.gil', 'interp.id', 'interp.next_thread_id')


def designated(values):
    """C initialiser lines of [('a.b', v), ...], one line a member."""
    lines, members = [], []

    def flush(outer, inner):
        text = ', '.join('.%s = %s' % m for m in inner)
        if outer:
            text = '.%s = { %s }' % (outer, text)
        line = '\t\t'
        for word in re.split(r'(?<=[,{]) ', text):
            if len((line + word).expandtabs(8)) > 78:
                lines.append(line.rstrip())
                line = '\t\t\t'
            line += word + ' '
        lines.append(line.rstrip() + ',')

    previous = None
    for name, value in values:
        outer, _, inner = name.rpartition('.')
        if members and outer != previous:
            flush(previous, members)
            members = []
        previous = outer
        members.append((inner, 'LAYOUT_NONE' if value is None else value))
    flush(previous, members)
    return lines


def versions():
    """[('3.13t', Facts), ...] in order; the last patch release of each."""
    found = {}
    for file in os.listdir(LAYOUTS):
        m = re.match(r'(\d+)\.(\d+)\.(\d+)(t?)\.txt$', file)
        if not m:
            continue
        key = (int(m.group(1)), int(m.group(2)), m.group(4))
        if key in found and found[key][0] > int(m.group(3)):
            continue
        with open(os.path.join(LAYOUTS, file)) as f:
            found[key] = int(m.group(3)), Facts().feed(f), file[:-4]
    return [('%d.%d%s' % key, full, facts)
            for key, (_, facts, full) in sorted(found.items())]


HEAD = '''\
/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/data/make-layouts.py: change that, not this. */
/* clang-format off */
'''


def known(names):
    """Which versions there are rows for, in words: "2.7 and 3.6 to 3.15"."""
    spans = []
    for name in names:
        major, minor = [int(n) for n in name.rstrip('t').split('.')]
        if spans and spans[-1][0] == major and minor - spans[-1][2] in (0, 1):
            spans[-1][2] = minor
        else:
            spans.append([major, minor, minor])
    return ' and '.join(
        '%d.%d' % (major, first) if first == last else
        '%d.%d to %d.%d' % (major, first, major, last)
        for major, first, last in spans)


def write_layouts(all_versions):
    names = [name for name, _, _ in all_versions]
    with open(os.path.join(PYTHON, 'layout_table.h'), 'w') as out:
        out.write(HEAD)
        out.write('#define LAYOUT_KNOWN "%s"\n\n' % known(names))
        out.write('static const struct layout layout_rows[] = {\n')
        for name, full, facts in all_versions:
            values = row(name, facts)
            for field, value in values:
                if (value is None and field.startswith(REQUIRED) and
                        field not in OPTIONAL):
                    sys.exit('%s: no %s' % (full, field))
            out.write('\t{ /* from CPython %s */\n' % full)
            out.write('\n'.join(designated(values)) + '\n\t},\n')
        out.write('};\n/* clang-format on */\n')


def write_debugoffsets(all_versions):
    table = 'struct _Py_DebugOffsets'
    with open(os.path.join(PYTHON, 'debugoffsets_table.h'), 'w') as out:
        out.write(HEAD)
        out.write('static const struct shape shapes[] = {\n')
        last = None
        for name, full, facts in all_versions:
            if table not in facts.fields:
                continue
            minor = int(name.rstrip('t').split('.')[1])
            have = facts.fields[table]
            values = [('minor', minor), ('bytes', facts.size[table])]
            for field in KEEP[table][3:]:
                # 0 stands for: no such entry (the cookie is there).
                values.append((field, have[field][0] if field in have else 0))
            if name.endswith('t'):
                if values != last:
                    sys.exit('%s: not the shape of the GIL build' % full)
                continue
            last = values
            out.write('\t{ /* from CPython %s */\n' % full)
            out.write('\n'.join(designated(values)) + '\n\t},\n')
        out.write('};\n/* clang-format on */\n')


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'add':
        add(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 1:
        everything = versions()
        write_layouts(everything)
        write_debugoffsets(everything)
    else:
        sys.exit(__doc__)


main()
