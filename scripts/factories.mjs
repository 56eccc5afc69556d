/** Which factories only bind arguments: a rule of thumb for corridors.mjs. */
import ts from 'typescript'
import { isFunction } from './call-graph.mjs'

const TIMER = /^(setTimeout|setInterval|setImmediate)$/

/** @typedef {import('./call-graph.mjs').Fn} Fn */

/**
 * Whether a function makes functions and keeps nothing between their calls: what it returns is a function or has one among
 * its members, its body has no timer, and what runs when it is called itself has no `let`, no `new` but of an error that is
 * thrown, and no call of another function that makes functions and keeps something. What the functions written in it make
 * lives for one call of theirs: those are not looked into, except callbacks.
 *
 * It is a rule of thumb. An object or a list that is changed in place, and what a package keeps behind a plain call, are not
 * seen; a `let` that only counts a loop is taken for something kept.
 *
 * @param {ts.Program} program
 * @param {(path: string) => boolean} isOwn
 * @returns {(fn: Fn) => boolean}
 */
export function statelessFactories(program, isOwn) {
  const checker = program.getTypeChecker()
  /** @type {Map<Fn, boolean>} */
  const known = new Map()

  /** @param {ts.Type} type @returns {boolean} */
  function hasFunctions(type) {
    if (type.isUnion()) return type.types.some(hasFunctions)
    if (type.getCallSignatures().length > 0) return true
    // Members that a package or the language declares, such as those of a string, are not what the factory made.
    return checker.getPropertiesOfType(type).some((member) => {
      const isOwnMember = (member.declarations ?? []).some((one) => isOwn(one.getSourceFile().fileName))
      return isOwnMember && checker.getNonNullableType(checker.getTypeOfSymbol(member)).getCallSignatures().length > 0
    })
  }

  /** @param {Fn} fn */
  function makesFunctions(fn) {
    const signature = checker.getSignatureFromDeclaration(fn)
    const made = signature && checker.getReturnTypeOfSignature(signature)
    return made !== undefined && hasFunctions(checker.getAwaitedType(made) ?? made)
  }

  /** @param {ts.Expression} callee @returns {Fn | undefined} */
  function calledFunction(callee) {
    const symbol = ts.isIdentifier(callee) ? checker.getSymbolAtLocation(callee) : undefined
    const target = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    for (const one of target?.declarations ?? []) {
      const value = ts.isVariableDeclaration(one) ? one.initializer : one
      if (value !== undefined && isOwn(value.getSourceFile().fileName) && isFunction(value)) return value
    }
    return undefined
  }

  /** @param {ts.Node} node @returns {boolean} */
  function hasTimer(node) {
    if (ts.isCallExpression(node) && TIMER.test(node.expression.getText())) return true
    return ts.forEachChild(node, hasTimer) ?? false
  }

  /** @param {ts.Node} node @returns {boolean} */
  function keeps(node) {
    if (isFunction(node) && !(ts.isCallExpression(node.parent) && node.parent.arguments.some((one) => one === node)))
      return false
    if (ts.isVariableDeclarationList(node) && node.flags & ts.NodeFlags.Let) return true
    if (ts.isNewExpression(node) && !ts.isThrowStatement(node.parent)) return true
    if (ts.isCallExpression(node)) {
      const called = calledFunction(node.expression)
      if (called !== undefined && makesFunctions(called) && keepsSomething(called)) return true
    }
    return ts.forEachChild(node, keeps) ?? false
  }

  /** @param {Fn} fn */
  function keepsSomething(fn) {
    const found = known.get(fn)
    if (found !== undefined) return found
    known.set(fn, false) // Functions that call each other: what they keep is found in one of them.
    const kept = hasTimer(fn.body) || keeps(fn.body)
    known.set(fn, kept)
    return kept
  }

  return (fn) => makesFunctions(fn) && !keepsSomething(fn)
}
