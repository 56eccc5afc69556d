/** Compares lists with patterns of lists: `t.match` accepts a list that goes on after the items of its pattern. */
import type { Test } from 'tap'

/**
 * Does what `t.match` does, and fails unless every list that the pattern has, at any depth, has as many items as the
 * list that was found. Objects may have more members than their pattern.
 */
export function matchExactly(t: Test, found: unknown, pattern: unknown, message = 'should match pattern'): boolean {
  t.currentAssert = matchExactly // a failure then names the line of the caller
  return t.match(found, exact(pattern), message)
}

/** The pattern with each list as an object that also demands its length. */
function exact(pattern: unknown): unknown {
  if (Array.isArray(pattern)) return { ...pattern.map(exact), length: pattern.length }
  if (!isPlain(pattern)) return pattern // an expression, a constructor, an error: tap knows what these match
  return Object.fromEntries(Object.entries(pattern).map(([name, member]) => [name, exact(member)]))
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
