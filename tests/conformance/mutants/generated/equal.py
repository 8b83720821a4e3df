"""Whether a mutant changes nothing that the compiler sees: the objects of what it is in, with it and without, are the same."""
import concurrent.futures
import filecmp
import os
import re
import subprocess
import tempfile
import time
import generate
import sites

FLAGS = [f for f in generate.FLAGS if f != '-O1'] + ['-O2']


class Prover:
    def __init__(self, generator):
        self.generator, self.readers = generator, None
        self.here = os.path.dirname(os.path.abspath(__file__))

    def command(self, folder, *more):
        root = self.generator.root
        return [os.environ.get('CXX', 'g++'), *FLAGS, '-I', folder, '-I', self.here, '-I', os.path.join(root, 'sdk'),
                '-I', os.path.join(root, 'sdk/include'), '-I', os.path.join(self.generator.out, '../sdk/include'), *more]

    def units_of(self, path):
        """The sources that are compiled with this file in them."""
        if path.endswith('.cc'):
            return [path]
        if self.readers is None:
            self.readers = {}
            root = self.generator.root
            for unit in (p for p in self.generator.paths if p.endswith('.cc')):
                made = subprocess.run(self.command(os.path.dirname(os.path.join(root, unit)), '-MM', os.path.join(root, unit)),
                                      stdout=subprocess.PIPE, text=True, check=True).stdout
                self.readers[unit] = {os.path.realpath(name) for name in re.split(r'[\\\s]+', made.split(':', 1)[1]) if name}
        where = os.path.realpath(os.path.join(self.generator.root, path))
        return [unit for unit, read in self.readers.items() if where in read]

    def is_equal(self, number, mode):
        site = self.generator.sites[number]
        text, _ = sites.write(self.generator.sources[site.path], [(number, site)], '#include "sites.h"\n')
        with tempfile.TemporaryDirectory(dir=self.generator.out) as folder:
            place = os.path.join(folder, generate.place_of(site.path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, 'w') as file:
                file.write(text)
            return all(self.same_object(folder, unit, number, mode) for unit in self.units_of(site.path))

    def same_object(self, folder, path, number, mode):
        unit = os.path.join(folder, os.path.basename(path))
        if not os.path.exists(unit):
            with open(unit, 'w') as file:
                file.write(self.generator.sources[path].text)
        objects = []
        for m in (0, mode):
            objects.append('%s.%d.o' % (unit, m))
            made = subprocess.run(self.command(folder, '-DTENON_SITE=%d' % number, '-DTENON_MODE=%d' % m, '-c', unit, '-o', objects[-1]),
                                  stderr=subprocess.DEVNULL)
            if made.returncode:
                return False
        return filecmp.cmp(*objects, shallow=False)


def equal_ones(root, out, mutants, jobs, seconds):
    """Those of the mutants, (site, mode), that change no object; what is not looked at within the time is not among them."""
    if not mutants:
        return set()
    prover = Prover(generate.Generator(root, out, jobs))
    prover.units_of(generate.EXAMPLE[1])  # once, before there are threads
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        same = list(pool.map(lambda m: time.monotonic() < end and prover.is_equal(*m), mutants))
    return {m for m, is_same in zip(mutants, same) if is_same}
