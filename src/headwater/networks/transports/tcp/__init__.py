"""Nodes in processes of their own, one each, that talk over TCP."""

from __future__ import annotations

from headwater.networks.transports.tcp.network import TcpNetwork

__all__ = ["TcpNetwork"]
