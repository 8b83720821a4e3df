"""Writes and builds a backend in which thousands of faults wait, each to be chosen when it is loaded.

  generate.py SOURCE_DIR OUT_DIR [JOBS]      OUT_DIR gets example.so, and sites.tsv: a line for each site
"""
import collections
import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys
import sites

EXAMPLE = ['sdk/example/table.cc', 'sdk/example/loops.h']
HEADERS = ['element', 'entry', 'geometry', 'graph', 'kernel', 'philox', 'strided', 'typed_table']
RUNTIME = ['plan/arena_layout.cc', 'plan/arena_layout.h', 'barriers.cc', 'compile.cc', 'entries.cc', 'executor.cc',
           'executor.h', 'handles.h', 'host/gang_executor.cc', 'host/gang_executor.h', 'host/host_backend.cc',
           'host/host_driver.cc', 'host/host_driver.h', 'host/host_stream.cc', 'host/host_stream.h', 'memory.cc',
           'memory.h', 'check/op_attributes.cc', 'check/request_check.cc', 'plan/plan.cc', 'plan/planner.cc',
           'prepared_graph.cc', 'queue.cc',
           'queue.h', 'submit.cc', 'trace.cc', 'trace.h', 'plan/views.cc']
# Compiled as they are: what the example never runs (fusion, replicas, devices with memory of their own), and what checks
# graphs, which the suite's are not wrong in (tests/trust has those).
PLAIN = ['device/stream_executor.cc', 'matcher.cc', 'check/graph_check.cc', 'check/graph_structure.cc',
         'check/node_check.cc', 'pool_patterns.cc', 'replicas/replica_facts.cc', 'replicas/replica_rules.cc',
         'replicas/replica_values.cc', 'replicas/replicas.cc', 'check/shape_check.cc', 'plan_description.cc',
         '../op/infer.cc', '../op/shapes/elementwise.cc', '../op/shapes/movement.cc', '../op/shapes/network.cc',
         '../op/shapes/table.cc', '../op/shapes/update.cc', '../op/shapes/windows.cc']
# Queues with threads, so that their code is reached.
ALWAYS = {'sdk/example/table.cc': ('TENON_CPU, example::fill_table, false,', 'TENON_CPU, example::fill_table, true,')}
FLAGS = ['-std=c++20', '-O1', '-fPIC', '-fvisibility=hidden', '-fvisibility-inlines-hidden', '-w', '-pthread']
ROUNDS = 25


def place_of(path):
    """Headers of the SDK are included by the end of their path."""
    if path.endswith('.h'):
        for folder in ('tenon/plugin/', 'runtime/'):
            if folder in path:
                return path[path.rindex(folder):]
    return os.path.basename(path)


def written_headers(folder):
    """Where the build that this folder is in has written headers of the SDK: tenon/op/names.h."""
    while folder != os.path.dirname(folder):
        headers = os.path.join(folder, 'sdk/include')
        if os.path.exists(os.path.join(headers, 'tenon/op/names.h')):
            return headers
        folder = os.path.dirname(folder)
    sys.exit('generate: no build around the folder has written tenon/op/names.h')


class Generator:
    def __init__(self, root, out, jobs):
        self.root, self.out, self.jobs = root, out, jobs
        self.paths = EXAMPLE + ['sdk/include/tenon/plugin/%s.h' % h for h in HEADERS] + ['sdk/runtime/' + r for r in RUNTIME]
        self.sources, self.sites, self.lines = {}, [], {}
        for path in self.paths:
            with open(os.path.join(root, path)) as file:
                text = file.read()
            if path in ALWAYS:
                assert ALWAYS[path][0] in text, path
                text = text.replace(*ALWAYS[path])
            self.sources[path] = sites.Source(text)
            for site in self.sources[path].sites:
                site.path, site.number, site.live = path, len(self.sites), True
                self.sites.append(site)
        self.name_sites()
        self.recall()

    def name_sites(self):
        """Names that stay what they are while lines are added elsewhere."""
        seen = collections.Counter()
        for site in self.sites:
            text = self.sources[site.path].text
            site.line = text.count('\n', 0, site.at) + 1
            site.whole = ' '.join(text.split('\n')[site.line - 1].split())
            name = '%s | %s | %s' % (os.path.basename(site.path), site.whole, site.kind)
            seen[name] += 1
            site.name = '%s %d' % (name, seen[name])

    def stamp(self):
        """Of all that decides what is built."""
        here = os.path.dirname(os.path.abspath(__file__))
        digest = hashlib.sha256(os.environ.get('CXX', 'g++').encode())
        rest = [os.path.join(here, f) for f in ('generate.py', 'sites.py', 'sites.h', 'sites.cc', 'recorder.h')]
        rest += [os.path.join(folder, f) for part in ('sdk/include', 'sdk/runtime') for folder, _, files in
                 sorted(os.walk(os.path.join(self.root, part))) for f in sorted(files)]
        for text in [s.text for s in self.sources.values()] + [open(f).read() for f in rest]:
            digest.update(text.encode())
        return digest.hexdigest()

    def is_built(self):
        try:
            with open(os.path.join(self.out, 'built.txt')) as file:
                return file.read() == self.stamp() and os.path.exists(os.path.join(self.out, 'example.so'))
        except OSError:
            return False

    def remember_built(self):
        with open(os.path.join(self.out, 'built.txt'), 'w') as file:
            file.write(self.stamp())

    def recall(self):
        """What did not compile the last time, if nothing has changed since."""
        try:
            with open(os.path.join(self.out, 'settled.txt')) as file:
                stamp, *names = file.read().split('\n')
        except OSError:
            return
        if stamp == self.stamp():
            gone = set(names)
            for site in self.sites:
                site.live = site.name not in gone

    def remember(self):
        with open(os.path.join(self.out, 'settled.txt'), 'w') as file:
            file.write('\n'.join([self.stamp()] + [s.name for s in self.sites if not s.live]))

    def write(self, path):
        source = self.sources[path]
        live = [(s.number, s) for s in source.sites if s.live]
        text, lines = sites.write(source, live, '#include "sites.h"\n')
        place = os.path.join(self.out, place_of(path))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, 'w') as file:
            file.write(text)
        self.lines[os.path.realpath(place)] = lines

    def compile(self, unit, *flags):
        here = os.path.dirname(os.path.abspath(__file__))
        command = [os.environ.get('CXX', 'g++'), *FLAGS, '-I', self.out, '-I', here, '-I', os.path.join(self.root, 'sdk'), '-I',
                   os.path.join(self.root, 'sdk/include'), '-I', written_headers(self.out), *flags, unit]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True)

    def units(self):
        return [os.path.join(self.out, os.path.basename(p)) for p in self.paths if p.endswith('.cc')]

    def drop(self, errors):
        """Leaves out the sites to which errors point; whether there were any."""
        bad = set()
        for block in re.split(r'(?m)^(?=\S+:\d+:\d+: (?:fatal )?error:|In file included)', errors):
            direct, near = set(), set()
            for m in re.finditer(r'(?m)^\s*(?:from )?(\S+?):(\d+)(?::\d+)?:?(.*)', block):
                found = self.lines.get(os.path.realpath(m.group(1)), {}).get(int(m.group(2)), set())
                (direct if ' error:' in m.group(3) else near).update(found)
            bad |= direct or near or self.behind(block)
        for number in bad:
            self.sites[number].live = False
        return bad

    def behind(self, block):
        """The statements that stand before an error: one of them declared what is missing."""
        m = re.search(r'(?m)^(\S+?):(\d+):\d+: error:', block)
        lines = self.lines.get(os.path.realpath(m.group(1)), {}) if m else {}
        out = set()
        for line in range(int(m.group(2)) - 40, int(m.group(2))) if m else []:
            out |= {n for n in lines.get(line, set()) if self.sites[n].kind in ('statement', 'order')}
        return out

    def settle(self):
        """Leaves out what does not compile."""
        for path in self.paths:
            self.write(path)
        wrong = self.units()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for round in range(ROUNDS):
                results = list(pool.map(lambda u: self.compile(u, '-fsyntax-only', '-fmax-errors=0', '-fno-diagnostics-show-caret'), wrong))
                failed = [(u, r.stderr) for u, r in zip(wrong, results) if r.returncode]
                if not failed:
                    if len(wrong) == len(self.units()):
                        return
                    wrong = self.units()
                    continue
                bad = set()
                for unit, errors in failed:
                    found = self.drop(errors)
                    if not found:
                        sys.exit('generate: %s does not compile, and no site is to blame:\n%s' % (unit, errors[:4000]))
                    bad |= found
                for path in {self.sites[n].path for n in bad}:
                    self.write(path)
                wrong = [u for u, _ in failed]
                self.remember()  # who ends this goes on here
                print('generate: round %d: %d of %d sites do not compile' % (round + 1, sum(not s.live for s in self.sites), len(self.sites)),
                      file=sys.stderr)
        sys.exit('generate: still errors after %d rounds' % ROUNDS)

    def build(self, units, objects=()):
        """The library of these sources, what belongs to every one, and objects that are there."""
        with open(os.path.join(self.out, 'sites_count.h'), 'w') as file:
            file.write('constexpr unsigned long kTenonSites = %d;\n' % len(self.sites))
        here = os.path.dirname(os.path.abspath(__file__))
        units = [*units, os.path.join(here, 'sites.cc')]
        made = [os.path.join(self.out, '%d-%s.o' % (n, os.path.basename(u))) for n, u in enumerate(units)]  # names repeat
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for result in pool.map(lambda u: self.compile(u[0], '-c', '-o', u[1]), zip(units, made)):
                if result.returncode:
                    sys.exit('generate: ' + result.stderr[:4000])
        subprocess.run([os.environ.get('CXX', 'g++'), '-shared', '-pthread', '-o', os.path.join(self.out, 'example.so'), *made, *objects,
                        '-Wl,-z,defs', '-Wl,--version-script=' + os.path.join(self.root, 'sdk/cmake/backend.map')], check=True)

    def table(self):
        """number, file, line, kind, name, modes as "1=..|2=..", what stands there."""
        with open(os.path.join(self.out, 'sites.tsv'), 'w') as file:
            for site in self.sites:
                if site.live:
                    modes = '|'.join('%d=%s' % m for m in site.modes.items())
                    fields = [str(site.number), site.path, str(site.line), site.kind, site.name, modes, ' '.join(site.before.split())[:70]]
                    file.write('\t'.join(fields) + '\n')


def main():
    root, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    os.makedirs(out, exist_ok=True)
    generator = Generator(root, out, jobs)
    if not generator.is_built():
        generator.settle()
        generator.remember()
        generator.build(generator.units() + [os.path.join(root, 'sdk/runtime', p) for p in PLAIN])
        generator.table()
        generator.remember_built()
    print('generate: %d sites in %d files' % (sum(s.live for s in generator.sites), len(generator.paths)))


if __name__ == '__main__':
    main()
