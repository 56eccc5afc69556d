/**
 * Moves named schemas of a finished document to its components, and leaves references in their places. Bodies without a name get
 * one from their operation, so that no body of a request or a success is inline.
 */
import { COMPONENT, SHAPES, type Shapes } from './components.ts'

export type Schema = { readonly [keyword: string]: unknown }
type Reference = { readonly $ref: string }

export type Components = {
  /** Replaces every named part of the schema with a reference; if the schema itself is named, returns a reference. */
  readonly moveOut: (schema: Schema) => Schema
  readonly schemas: () => Readonly<Record<string, Schema>>
}

export function createComponents(): Components {
  const found = new Map<string, Schema>()

  /** @throws Error when two schemas with the same name differ in more than descriptions and examples */
  function define(name: string, schema: Schema): Schema {
    const known = found.get(name)
    if (known !== undefined && essence(known) !== essence(schema))
      throw new Error(`two schemas of the API are named ${name}`)
    // The description of a nullable field is its own, not that of the schema.
    const best = known?.description === undefined ? schema : known
    found.set(name, best)
    return best
  }

  function moveOut(schema: Schema): Schema {
    const { [COMPONENT]: name, [SHAPES]: shapes, ...own } = schema
    const moved = mapped(own, moveOut)
    if (name === undefined) return moved
    if (shapes !== undefined) return refer(String(name), define(String(name), shaped(moved, shapes as Shapes)), moved)
    const target = withoutNull(moved)
    if (target === null) return refer(String(name), define(String(name), moved), moved)
    const { description, examples, ...definition } = target
    define(String(name), definition)
    const said = withoutUndefined({ description, examples })
    return { ...said, anyOf: [{ $ref: pointer(String(name)) }, { type: 'null' }] }
  }

  /** One schema for each shape, selected by a field. */
  function shaped(schema: Schema, { by, byDefault, shapes }: Shapes): Schema {
    const properties = schema.properties as Readonly<Record<string, Schema>>
    const required = schema.required as readonly string[]
    const special = new Set(shapes.flatMap((shape) => [...shape.required, ...shape.optional]))
    const mapping: Record<string, string> = {}
    const shapesOf = shapes.map((shape): Reference => {
      const selector = {
        ...properties[by],
        enum: undefined,
        default: undefined,
        const: shape.value,
        examples: [shape.value],
      }
      const isIn = (field: string) =>
        !special.has(field) || shape.required.includes(field) || shape.optional.includes(field)
      const fields = Object.entries(properties).filter(([field]) => isIn(field))
      const definition = {
        type: 'object',
        description: shape.description,
        required: [...required, ...shape.required, ...(shape.value === byDefault ? [] : [by])],
        properties: Object.fromEntries(
          fields.map(([field, member]) => [field, field === by ? withoutUndefined(selector) : member]),
        ),
        additionalProperties: false,
      }
      define(shape.name, definition)
      mapping[shape.value] = pointer(shape.name)
      return { $ref: pointer(shape.name) }
    })
    const discriminator = { propertyName: by, mapping }
    // Where the field may be left out, a discriminator cannot keep the shapes apart, and `oneOf` promises that.
    return byDefault === undefined ? { oneOf: shapesOf, discriminator } : { anyOf: shapesOf, discriminator }
  }

  return { moveOut, schemas: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

/** Names a body after its operation, unless it has a name. @param suffix `Request`, `Response` */
export function namedAfter(operationId: string, schema: Schema, suffix: string): Schema {
  if (COMPONENT in schema) return schema
  const data = (schema.properties as Readonly<Record<string, Schema>> | undefined)?.data
  const stem = data?.[COMPONENT] ?? `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`
  return { ...schema, [COMPONENT]: `${String(stem)}${suffix}` }
}

function pointer(name: string): string {
  return `#/components/schemas/${name}`
}

/** A reference only has siblings that its target does not have. */
function refer(name: string, definition: Schema, { description }: Schema): Schema {
  const says = description !== undefined && description !== definition.description
  return { ...(says ? { description } : {}), $ref: pointer(name) }
}

/** The schema of values other than null; `null` if the schema does not allow null. */
function withoutNull(schema: Schema): Schema | null {
  const { type } = schema
  if (!Array.isArray(type) || !type.includes('null')) return null
  const types = (type as string[]).filter((one) => one !== 'null')
  return { ...schema, type: types.length === 1 ? types[0] : types }
}

function essence({ description, examples, example, ...rest }: Schema): string {
  return JSON.stringify(rest)
}

function withoutUndefined(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
}

/** The same schema with each direct subschema replaced. Examples and other values are not schemas. */
function mapped(schema: Schema, change: (part: Schema) => Schema): Schema {
  const isSchema = (part: unknown): part is Schema => typeof part === 'object' && part !== null && !Array.isArray(part)
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'properties' && isSchema(value)) {
        const members = Object.entries(value).map(([name, member]) => [name, change(member as Schema)])
        return [keyword, Object.fromEntries(members)]
      }
      if ((keyword === 'items' || keyword === 'additionalProperties') && isSchema(value))
        return [keyword, change(value)]
      if ((keyword === 'anyOf' || keyword === 'oneOf') && Array.isArray(value))
        return [keyword, value.map((part) => change(part as Schema))]
      return [keyword, value]
    }),
  )
}
