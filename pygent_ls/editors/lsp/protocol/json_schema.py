"""JSON Schema of the types of the wire: structs, typed dictionaries, and what they consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from pygent_ls.editors.lsp.protocol.validation import shown_pattern

Schema = dict[str, Any]

_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class TypeDefinitions:
    """The definitions of all types that are referred to, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Schema] = {}

    def sorted(self) -> Schema:
        """Return the definitions in the order of their names."""
        return dict(sorted(self._by_name.items()))

    def reference(self, kind: Any) -> Schema:
        """Return a reference to the definition of a type, which is added with those that it refers to."""
        name = kind.__name__
        if name not in self._by_name:
            properties, required = self._struct(kind) if issubclass(kind, Struct) else self._typed_dictionary(kind)
            definition: Schema = {"description": cleandoc(kind.__doc__ or ""), "properties": properties}
            if required:
                definition["required"] = required
            self._by_name[name] = {**definition, "title": name, "type": "object"}
        return {"$ref": f"#/$defs/{name}"}

    def _struct(self, kind: type[Struct]) -> tuple[Schema, list[str]]:
        properties: Schema = {}
        required: list[str] = []
        config = kind.__struct_config__
        if config.tag_field is not None:
            properties[config.tag_field] = _titled(config.tag_field, _literal([config.tag]))
            required.append(config.tag_field)
        for field in fields(kind):
            schema = self._schema(field.type)
            if field.required:
                required.append(field.encode_name)
            else:
                schema["default"] = None if field.default is UNSET else field.default
            properties[field.encode_name] = _titled(field.encode_name, schema)
        return properties, required

    def _typed_dictionary(self, kind: Any) -> tuple[Schema, list[str]]:
        hints = get_type_hints(kind, include_extras=True)
        properties: Schema = {}
        for name, hint in hints.items():
            bare = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
            properties[name] = _titled(name, self._schema(bare))
        return properties, [name for name in hints if name in kind.__required_keys__]

    def _schema(self, kind: Any) -> Schema:
        if kind is Any:
            return {}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._limited(*arguments)
        if origin is Literal:
            return _literal(arguments)
        if origin in (Union, UnionType):
            return self._union([each for each in arguments if each is not UnsetType])
        if origin is list:
            return {"items": self._schema(arguments[0]), "type": "array"}
        if origin is dict:
            return self._map(*arguments)
        return self.reference(kind)

    def _limited(self, kind: Any, meta: Meta) -> Schema:
        schema = self._schema(kind)
        if item := (meta.extra or {}).get("items"):
            schema["items"] = self._schema(item)
        size = "Items" if get_origin(kind) is list else "Length"
        limits = {
            "minimum": meta.ge,
            "exclusiveMinimum": meta.gt,
            "maximum": meta.le,
            f"min{size}": meta.min_length,
            f"max{size}": meta.max_length,
            "pattern": shown_pattern(meta) or None,
        }
        return dict(sorted({**schema, **{name: limit for name, limit in limits.items() if limit is not None}}.items()))

    def _union(self, kinds: list[Any]) -> Schema:
        schemas = [self._schema(each) for each in kinds]
        tags = {each.__struct_config__.tag: of for each, of in zip(kinds, schemas, strict=True) if _is_tagged(each)}
        if len(tags) < len(kinds):
            return {"anyOf": schemas}
        mapping = {tag: of["$ref"] for tag, of in sorted(tags.items())}
        name = kinds[0].__struct_config__.tag_field
        return {"discriminator": {"mapping": mapping, "propertyName": name}, "oneOf": schemas}

    def _map(self, key: Any, kind: Any) -> Schema:
        values = True if kind is Any else self._schema(kind)
        names = self._schema(key).get("pattern")
        contents = {"patternProperties": {names: values}} if names else {"additionalProperties": values}
        return {**contents, "type": "object"}


def _is_tagged(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind.__struct_config__.tag_field is not None


def _literal(values: Sequence[Any]) -> Schema:
    known = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return {**known, "type": _PLAIN[type(values[0])]}


def _titled(name: str, schema: Schema) -> Schema:
    """Return the schema of a member with its title; a mere reference has none."""
    others = [each for each in schema.get("anyOf", [schema]) if each != {"type": "null"}]
    if len(others) == 1 and "$ref" in others[0]:
        return dict(sorted(schema.items()))
    return dict(sorted({**schema, "title": name.replace("_", " ").title()}.items()))
