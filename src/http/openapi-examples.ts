/**
 * A complete example for a schema, assembled from the examples of its fields, so that a route states each only once.
 */

type Schema = Readonly<Record<string, unknown>>

/** Undefined when the schema has no example or default. */
export function exampleOf(schema: Schema): unknown {
  const examples = schema.examples as readonly unknown[] | undefined
  if (examples !== undefined && examples.length > 0) return examples[0]
  if (schema.example !== undefined) return schema.example
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum)) return (schema.enum as unknown[])[0]
  const alternative = [schema.anyOf ?? schema.oneOf].flat()[0] as Schema | undefined
  if (alternative !== undefined) return exampleOf(alternative)
  const types = [schema.type].flat()
  if (types.includes('object')) return exampleOfObject(schema)
  if (types.includes('array')) {
    const item = schema.items === undefined ? undefined : exampleOf(schema.items as Schema)
    return item === undefined ? [] : [item]
  }
  if (schema.format === 'uri') return 'https://example.com/a'
  return plainExample(types)
}

function exampleOfObject(schema: Schema): unknown {
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>)
  const members = properties.map(([name, member]) => [name, exampleOf(member)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function plainExample(types: readonly unknown[]): unknown {
  if (types.includes('null')) return null
  if (types.includes('boolean')) return true
  if (types.includes('integer') || types.includes('number')) return 1
  return undefined
}
