"""A few generated faults, quickly: those of small.list that say `caught` must be noticed, those that say `equal` must not.

  small.py SOURCE_DIR OUT_DIR MUTANT_RUNNER OBJECT..     the objects are those of the library without any of these faults
"""
import os
import shutil
import subprocess
import sys
import generate

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = '^(queue|program|feed|memory|device)/'  # that take no time
JOBS = 2


def read_list():
    """Outcome by key."""
    with open(os.path.join(HERE, 'small.list')) as file:
        lines = [line.rstrip('\n').split(' ', 1) for line in file if line.strip() and not line.startswith('#')]
    return {key: outcome for outcome, key in lines}


def build(generator, expected, objects):
    """Writes the library and gives each listed mutant's (site, mode)."""
    mutants = {}
    for site in generator.sites:
        keys = {'%s: %s' % (site.name, text): mode for mode, text in site.modes.items()}
        site.live = any(key in expected for key in keys)
        mutants.update({key: (site.number, mode) for key, mode in keys.items() if key in expected})
    missing = [key for key in expected if key not in mutants]
    if missing:
        sys.exit('small.list: there is no such mutant (any more):\n' + '\n'.join(missing))
    changed = sorted({s.path for s in generator.sites if s.live})
    if not all(path.endswith('.cc') for path in changed):
        sys.exit('small.list: a mutant of a header; only sources are compiled here')
    for path in changed:
        generator.write(path)
    unchosen = os.path.join(generator.out, 'chooser.cc')  # of the list made by hand, none
    with open(unchosen, 'w') as file:
        file.write('int tenon_mutant = 0;\n')
    units = [os.path.join(generator.out, os.path.basename(path)) for path in changed] + [unchosen]
    kept = [o for o in objects if os.path.basename(o)[:-2] not in {os.path.basename(unit) for unit in units}]
    generator.build(units, kept)
    generator.table()
    return mutants


def main():
    root, out, runner, *objects = sys.argv[1:]
    expected = read_list()
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    generator = generate.Generator(os.path.abspath(root), os.path.abspath(out), JOBS)
    mutants = build(generator, expected, objects)
    only, results = os.path.join(out, 'only.txt'), os.path.join(out, 'results')
    with open(only, 'w') as file:
        file.writelines('%d:%d\n' % m for m in mutants.values())
    subprocess.run([runner, os.path.join(out, 'example.so'), os.path.join(out, 'sites.tsv'), results, '--only', only, '--tests', TESTS,
                    '--jobs', str(JOBS)], check=True)
    found = {}
    with open(results) as file:
        for line in file:
            site, mode, outcome, *_ = line.split('\t')
            found[(int(site), int(mode))] = outcome
    wrong = 0
    for key, mutant in mutants.items():
        outcome = {'caught': 'caught', 'missed': 'equal'}.get(found.get(mutant), 'not reached')
        wrong += outcome != expected[key]
        print('%-8s %s%s' % (outcome, key, '' if outcome == expected[key] else '   EXPECTED ' + expected[key]))
    print('%d generated faults: %d as expected' % (len(mutants), len(mutants) - wrong))
    sys.exit(1 if wrong else 0)


main()
