# SPDX-License-Identifier: Apache-2.0
"""huge_function.py SECONDS DIRECTORY: a function of 8000 lines naps on its last two.
For Python 2.7 as for 3."""
import sys

from burner import burn, note

body = "".join(" x['k%d'] = %d if x else (%d,\n   'pad')\n" % (i, i, i)
               for i in range(4000))
with open(sys.argv[2] + "/huge_module.py", "w") as file:
    file.write("def huge(nap, t):\n x = {}\n" + body + " nap(t)\n nap(t)\n")
sys.path.insert(0, sys.argv[2])
import huge_module

code = huge_module.huge.__code__
note(table=len(getattr(code, "co_linetable", None) or code.co_lnotab))
huge_module.huge(burn, float(sys.argv[1]) / 2)
