"""The shop of the sample incident: its tools, what its host promises, and the orders it holds."""

from __future__ import annotations

from typing import Any

CUSTOMER = {"type": "string", "pattern": "^cus_[0-9]{6}$"}
ORDER = {"type": "string", "pattern": "^ord_[0-9]{6}$"}
CENTS = {"type": "integer", "minimum": 1}
STATUS = {"type": "string", "enum": ["paid", "shipped", "delivered", "lost"]}


def closed(**properties: Any) -> dict[str, Any]:
    """An object schema with exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "defer_loading": False,
    }


GET_CUSTOMER = closed(customer_id=CUSTOMER)
GET_ORDER = closed(order_id=ORDER, view={"type": "string", "description": "Which part of the order to return."})
LIST_ORDERS = closed(
    customer_id={"type": "string", "description": "Whose orders."},
    status=STATUS,
    limit={"type": "integer", "minimum": 1, "maximum": 50},
)
# The hole of the incident: get_order holds order_id to a pattern, refund_order takes any text.
REFUND_ORDER = closed(
    order_id={"type": "string", "description": "The order to pay back."},
    amount_cents=CENTS,
    reason={"type": "string", "description": "Why the money goes back."},
)
REFUND_ORDER_APPROVED = closed(
    **REFUND_ORDER["properties"],
    approval_ref={"type": "string", "pattern": "^apr_[0-9]{4}$", "description": "The team lead's approval."},
)
EXPORT_USERS = closed(
    format={"type": "string", "enum": ["csv", "jsonl"]},
    scope={"type": "string", "description": "Which part of the customer base."},
)
FIND_ARTICLE = closed(question={"type": "string", "maxLength": 200})


def tools(refund: dict[str, Any] = REFUND_ORDER) -> list[dict[str, Any]]:
    """The agent's tool table; `refund` is the schema of refund_order on offer."""
    return [
        function("get_customer", "Returns one customer of the shop.", GET_CUSTOMER),
        function("get_order", "Returns one order.", GET_ORDER),
        function("list_orders", "Returns the orders of one customer, newest first.", LIST_ORDERS),
        function("refund_order", "Pays an order back, in full or in part. Moves money.", refund),
        function("export_users", "Writes customer records to a file for the data team.", EXPORT_USERS),
        function("find_article", "Returns the text of the help article that fits best.", FIND_ARTICLE),
        {
            "type": "mcp",
            "server_label": "carrier",
            "transport": {"type": "http", "server_url": "https://carrier.example/mcp"},
            "allowed_tools": ["track_parcel"],
            "connection_origin": "service",
            "credential_id": None,
            "request_metadata": {},
            "required": False,
        },
    ]


def contracts() -> dict[str, dict[str, Any]]:
    """What the host takes and promises, by tool.

    The arguments of refund_order changed that day, so only its output is written down.
    """
    item = closed(sku={"type": "string"}, quantity={"type": "integer", "minimum": 1})
    row = closed(order_id=ORDER, customer_id=CUSTOMER, status=STATUS, total_cents=CENTS)
    return {
        "get_customer": {
            "arguments": GET_CUSTOMER,
            "output": closed(
                customer_id=CUSTOMER,
                email={"type": "string"},
                tier={"type": "string", "enum": ["basic", "silver", "gold"]},
            ),
        },
        "get_order": {
            "arguments": GET_ORDER,
            "output": closed(**row["properties"], items={"type": "array", "items": item, "minItems": 1}),
        },
        "list_orders": {
            "arguments": LIST_ORDERS,
            "output": closed(
                orders={"type": "array", "items": row},
                next_cursor={"anyOf": [{"type": "string"}, {"type": "null"}]},
            ),
        },
        "refund_order": {
            "output": closed(
                refund_id={"type": "string", "pattern": "^rf_[0-9]{5}$"},
                order_id=ORDER,
                amount_cents=CENTS,
                status={"type": "string", "enum": ["queued", "paid"]},
            ),
        },
        "export_users": {
            "arguments": EXPORT_USERS,
            "output": closed(
                export_id={"type": "string"},
                rows={"type": "integer", "minimum": 0},
                format={"type": "string"},
            ),
        },
    }


def row(number: int) -> dict[str, Any]:
    """One order as list_orders returns it; everything follows from its number."""
    return {
        "order_id": f"ord_{number:06d}",
        "customer_id": f"cus_{418000 + number % 1000:06d}",
        "status": "lost",
        "total_cents": 1900 + number * 37 % 80 * 100,
    }


def order(number: int) -> dict[str, Any]:
    return {**row(number), "items": [{"sku": f"FH-{number * 13 % 900 + 100}", "quantity": 1 + number % 3}]}


def customer(number: int) -> dict[str, Any]:
    return {
        "customer_id": f"cus_{number:06d}",
        "email": f"c{number:06d}@example.com",
        "tier": ("basic", "silver", "gold")[number % 3],
    }


def refund(number: int, amount: int) -> dict[str, Any]:
    return {
        "refund_id": f"rf_{number % 100000:05d}",
        "order_id": f"ord_{number:06d}",
        "amount_cents": amount,
        "status": "queued",
    }
