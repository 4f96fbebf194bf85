"""What LangChain and LangGraph write: which of their records hold messages, and messages that come in pieces."""
