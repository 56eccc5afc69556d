/**
 * Parts of a schema for the API document only: its name, and the shapes of its body. Invariant: neither changes
 * validation or serialisation, because both are annotations that only the document reads.
 */
import type { TSchema } from '@sinclair/typebox'

/** The name of a schema among the components of the document. */
export const COMPONENT = 'x-component'
/** The shapes of a body, selected by one of its fields. */
export const SHAPES = 'x-shapes'

/** A body that has other fields for other values of one field. */
export type Shapes = {
  /** The field that selects the shape: `minting_type`. */
  readonly by: string
  /** The value that counts when the field is omitted. */
  readonly byDefault: string
  /** Without the fields that every shape has. */
  readonly shapes: readonly {
    readonly name: string
    readonly description: string
    readonly value: string
    readonly required: readonly string[]
    readonly optional: readonly string[]
  }[]
}

/** Names a schema: the document defines it once and refers to it. @param name in PascalCase, unique for its fields */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, [COMPONENT]: name }
}

/** States the shapes of a body. The route checks them: their errors name the field and the value that does not allow it. */
export function withShapes<Schema extends TSchema>(schema: Schema, shapes: Shapes): Schema {
  return { ...schema, [SHAPES]: shapes }
}
