"""Written for Python 3.6: since 3.10 these names are in collections.abc."""

from collections import Mapping, OrderedDict


class Shapes(Mapping):
    def __init__(self, *names):
        self._names = OrderedDict((name, len(name)) for name in names)

    def __getitem__(self, name):
        return self._names[name]

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)
