// Replaces tap's TypeScript plugin, which would compile the tests with ts-node: tsx loads them instead. tap reads these
// options when it starts.
export const config = {
  typecheck: { type: 'boolean', default: false },
  tsconfig: { type: 'string' },
  'type-strip-only': { type: 'boolean', default: false },
}
export const plugin = () => ({})
