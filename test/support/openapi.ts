/** Finds what is missing in the OpenAPI document. */

type Node = { readonly [name: string]: unknown }

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** One line for each thing that a reader of the reference would miss; none for a complete document. */
export function openapiProblems(document: Node): string[] {
  const operations = Object.entries(document.paths as Record<string, Node>).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      name: `${method} ${path}`,
      operation: item[method] as Node,
    })),
  )
  const ids = operations.map(({ operation }) => operation.operationId)
  return [
    ...operations.flatMap(({ name, operation }) =>
      operationProblems(operation).map((problem) => `${name}: ${problem}`),
    ),
    ...ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `operationId ${String(id)} stands twice`),
    ...danglingReferences(document, document),
    ...undescribedFields(document.components, 'components'),
    ...undescribedFields(document.paths, 'paths'),
  ]
}

function operationProblems(operation: Node): string[] {
  const missing = ['summary', 'description', 'operationId', 'tags', 'security'].filter((name) => !operation[name])
  const responses = Object.entries(operation.responses as Record<string, Node>)
  const isPublic = (operation.security as unknown[] | undefined)?.length === 0
  const wanted = [
    '500',
    '503',
    ...(isPublic ? [] : ['401', '403', '429']),
    ...(operation.requestBody ? ['400', '413', '415', '422'] : []),
  ]
  return [
    ...missing.map((name) => `no ${name}`),
    ...(operation.requestBody ? mediaProblems(operation.requestBody as Node, 'body') : []),
    ...responses.filter(([status]) => status < '300').flatMap(([status, response]) => mediaProblems(response, status)),
    ...(/^[A-Z][^.?]*$/.test(String(operation.summary)) ? [] : ['the summary is not one imperative phrase']),
    ...responses
      .filter(([, response]) => !response.description && !response.$ref)
      .map(([status]) => `${status} is not described`),
    ...(responses.some(([status]) => status < '300') ? [] : ['no success']),
    ...wanted.filter((status) => !responses.some(([known]) => known === status)).map((status) => `no ${status}`),
    ...((operation.parameters ?? []) as Node[])
      .filter(({ description }) => !description)
      .map(({ name }) => `parameter ${String(name)} is not described`),
  ]
}

function mediaProblems({ content }: Node, place: string): string[] {
  return Object.entries((content ?? {}) as Record<string, Node>)
    .filter(
      ([type, media]) => type === 'application/json' && media.example === undefined && media.examples === undefined,
    )
    .map(() => `${place} has no example`)
}

function danglingReferences(part: unknown, document: Node): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { $ref } = part as { $ref?: unknown }
  const dangling = typeof $ref === 'string' && lookUp($ref, document) === undefined ? [`${$ref} leads nowhere`] : []
  return [...dangling, ...Object.values(part).flatMap((inner) => danglingReferences(inner, document))]
}

function lookUp(reference: string, document: Node): unknown {
  const steps = reference.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((at, step) => (at as Node | undefined)?.[step], document)
}

/** `status` and `data` of the envelope need no description, and a reference is described at its target. */
function undescribedFields(part: unknown, place: string): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { properties, ...rest } = part as { readonly properties?: Readonly<Record<string, Node>> }
  const isSchema = 'type' in rest
  const fields = Object.entries((isSchema && properties) || {})
  const isEnvelope = isSchema && properties !== undefined && 'status' in properties && 'data' in properties
  return [
    ...fields
      .filter(
        ([name, field]) => !field.description && !field.$ref && !(isEnvelope && ['status', 'data'].includes(name)),
      )
      .map(([name]) => `${place}: the field ${name} is not described`),
    ...fields.flatMap(([name, field]) => undescribedFields(field, `${place}.${name}`)),
    ...Object.entries(isSchema ? rest : part)
      .filter(([name]) => name !== 'example' && name !== 'examples')
      .flatMap(([name, inner]) => undescribedFields(inner, `${place}/${name}`)),
  ]
}
