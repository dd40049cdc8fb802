"""Provenance: fingerprints of what an agent was given, so that two runs are compared only where that means something.

The public modules are ``prompt``, ``tools``, ``generation``, ``manifest``, ``ledger``, ``context`` and ``writer`` (and
``configured``, which reads a manifest's configuration file). They are called by users' programs and by the command
line. Everything else is in folders by subject:

- ``comparison``: what differs between two JSON documents, and how a comparison ends. Pure.
- ``schemas``: definitions of tools, what differs between them, and what that means. Pure, but for ``mcp_server``, which
  starts a program.
- ``readers``: traces of several formats, read into generations and tool calls. Reads files.
- ``gate``: whether two traces may be compared at all.
- ``environment``: whether two runs had the same environment.

Files are read and written by ``record_files``, ``folder_digests``, ``configured``, ``ledger``, ``writer`` and
``readers``. No text of a prompt or a response is kept, unless a ledger is asked to keep one.
"""

from __future__ import annotations
