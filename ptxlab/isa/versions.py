"""Versions of the PTX ISA: the first that has a form or a target, and the CUDA release that brought each."""

from __future__ import annotations

from typing import NamedTuple


class PtxVersion(NamedTuple):
    """A version of the PTX ISA, as `.version` names it.

    >>> str(PtxVersion(9, 4)), PtxVersion(9, 4) > PtxVersion(8, 8)
    ('9.4', True)
    """

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


#: The version that the catalogue covers.
NEWEST = PtxVersion(9, 4)

#: CUDA release -> the newest PTX ISA that its compiler knows ("PTX Release History").
CUDA_RELEASES: dict[tuple[int, int], PtxVersion] = {
    (12, 0): PtxVersion(8, 0), (12, 1): PtxVersion(8, 1), (12, 2): PtxVersion(8, 2),
    (12, 3): PtxVersion(8, 3), (12, 4): PtxVersion(8, 4), (12, 5): PtxVersion(8, 5),
    (12, 6): PtxVersion(8, 5), (12, 7): PtxVersion(8, 6), (12, 8): PtxVersion(8, 7),
    (12, 9): PtxVersion(8, 8), (13, 0): PtxVersion(9, 0), (13, 1): PtxVersion(9, 1),
    (13, 2): PtxVersion(9, 2), (13, 3): PtxVersion(9, 3), (13, 4): PtxVersion(9, 4),
}  # fmt: skip


def newest_of_cuda(release: tuple[int, int]) -> PtxVersion:
    """The newest PTX ISA that a release's compiler knows; NEWEST for releases after those listed here.

    >>> str(newest_of_cuda((13, 0))), str(newest_of_cuda((14, 2)))
    ('9.0', '9.4')
    """
    known = [version for since, version in CUDA_RELEASES.items() if since <= release]
    return max(known, default=PtxVersion(0, 0))


def cuda_release(version: PtxVersion) -> str:
    """The first CUDA release, of those since 12.0, whose compiler knows a version of PTX.

    >>> cuda_release(PtxVersion(9, 4)), cuda_release(PtxVersion(7, 1))
    ('13.4', '12.0')
    """
    major, minor = min(release for release, known in CUDA_RELEASES.items() if known >= version)
    return f"{major}.{minor}"
