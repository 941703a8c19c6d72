"""The notes that every side saves, as the C library makes them."""

import ctypes
import json

import tools

_NAME_SIZE, _FIELDS_SIZE = 40, 1024


class Notes:
    """Makes notes by their numbers."""

    def __init__(self):
        library = ctypes.CDLL(str(tools.build_library("benchmark_records", ["BenchmarkRecords/benchmark_records.c"])))
        for function in (library.benchmark_name, library.benchmark_author):
            function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_uint64, ctypes.c_char_p]
        library.benchmark_fields.restype = ctypes.c_size_t
        library.benchmark_fields.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p]
        library.benchmark_hash.restype, library.benchmark_hash.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
        self._library = library
        self._name = ctypes.create_string_buffer(_NAME_SIZE)
        self._fields = ctypes.create_string_buffer(_FIELDS_SIZE)

    def name(self, number):
        self._library.benchmark_name(number, self._name)
        return self._name.value.decode()

    def author(self, number):
        self._library.benchmark_author(number, self._name)
        return self._name.value.decode()

    def fields(self, number, version=0):
        """The fields as JSON text."""
        self._library.benchmark_fields(number, version, self._fields)
        return self._fields.value.decode()

    def values(self, number, version=0):
        """The plain values of the fields by their names."""
        return {name: field["value"] for name, field in json.loads(self.fields(number, version)).items()}

    def random(self, seed, below):
        """A number that looks random, the same for the same seed."""
        return self._library.benchmark_hash(seed) % below
