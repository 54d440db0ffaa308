"""The section ``[sst]`` of a server's option file: how its scripts copy all data to a node."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from simrep.modelling import ScenarioError
from simrep.models.mysql.options import size_in_bytes

from .compression import BUILT_IN, compression_of

__all__ = ["BACKUPS", "SstMethod", "SstOptions"]

SstMethod = Literal["rsync", "mariabackup", "xtrabackup-v2", "clone"]
BACKUPS: Final = frozenset({"mariabackup", "xtrabackup-v2"})
"""Methods that stream a backup."""

_SCRIPTS: Final = BACKUPS | {"rsync"}
_BUILT_IN = {"mariabackup": ("quicklz",), "xtrabackup-v2": tuple(BUILT_IN)}
_Size = Annotated[int, BeforeValidator(size_in_bytes)]


class SstOptions(BaseModel):
    """What ``[sst]`` says, by keys that begin with ``sst.``."""

    sst_method: SstMethod = Field(
        "rsync",
        alias="wsrep_sst_method",
        description="script that copies all data to a node that lacks it; with rsync the donor "
        "stands still",
    )
    sst_compressor: str = Field(
        "",
        alias="sst.compressor",
        description="command that compresses the stream of a backup, as zstd -1 -T4, pigz -p 4 or "
        "lz4; its decompressor works with one thread",
    )
    sst_compress: Literal["none", "quicklz", "lz4", "zstd"] = Field(
        "none",
        alias="sst.compress",
        description="what the backup tool compresses files with ([mariabackup] or [xtrabackup] "
        "compress); the joiner decompresses them when all have arrived",
    )
    sst_compress_threads: int = Field(
        1,
        validation_alias=AliasChoices("sst.compress-threads", "sst.compress_threads"),
        serialization_alias="sst.compress-threads",
        ge=1,
        le=512,
        description="threads for that",
    )
    sst_backup_threads: int = Field(
        1,
        validation_alias=AliasChoices("sst.backup-threads", "sst.backup_threads"),
        serialization_alias="sst.backup-threads",
        ge=1,
        le=512,
        description="files that a backup reads at a time (--parallel)",
    )
    sst_encrypt: Literal[0, 2, 3, 4] = Field(
        0,
        alias="sst.encrypt",
        description="2, 3, 4: the stream goes through TLS (socat; rsync: stunnel)",
    )
    sst_rlimit: _Size = Field(
        0,
        alias="sst.rlimit",
        ge=0,
        le=1 << 50,
        description="bytes per second that a backup sends at most, as 50M; 0: no limit",
    )
    sst_use_memory: _Size = Field(
        0,
        validation_alias=AliasChoices("sst.use-memory", "sst.use_memory"),
        serialization_alias="sst.use-memory",
        ge=0,
        le=1 << 50,
        description="memory of the joiner that prepares a backup, as 2G; 0: 100M, with mariabackup "
        "innodb_buffer_pool_size",
    )

    def check_sst(self) -> None:
        """Refuse what the script of the method does not read.

        Raises
        ------
        ScenarioError
            For the first of them.
        """
        method = self.sst_method
        for name, methods, who in (
            ("sst_compressor", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_compress", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_compress_threads", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_backup_threads", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_rlimit", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_use_memory", BACKUPS, "mariabackup and xtrabackup-v2"),
            ("sst_encrypt", _SCRIPTS, "rsync, mariabackup and xtrabackup-v2"),
        ):
            field = type(self).model_fields[name]
            if getattr(self, name) != field.default and method not in methods:
                raise ScenarioError(
                    _key(field),
                    f"the script of wsrep_sst_method = {method!r} does not read it",
                    f"those of {who} do",
                )
        if self.sst_use_memory and getattr(self, "innodb_buffer_pool_size", None) is None:
            raise ScenarioError(
                "sst.use-memory",
                "changes nothing as long as all data are in memory: a page is read in no time",
                "set innodb_buffer_pool_size",
            )
        if self.sst_compressor:
            compression_of(self.sst_compressor)
        if self.sst_compress != "none":
            if self.sst_compressor:
                raise ScenarioError(
                    "sst.compress", "files are compressed, and sst.compressor is given as well",
                    "one of both saves bytes",
                )  # fmt: skip
            if self.sst_compress not in _BUILT_IN[method]:
                raise ScenarioError(
                    "sst.compress",
                    f"{method} has no {self.sst_compress}",
                    f"it has {', '.join(_BUILT_IN[method])}",
                )
        elif self.sst_compress_threads != 1:
            raise ScenarioError("sst.compress-threads", "only goes with sst.compress")


def _key(field: Any) -> str:
    return str(field.alias or field.serialization_alias)
