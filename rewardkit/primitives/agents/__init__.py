"""Agents: transcripts, tool calls, evidence."""
