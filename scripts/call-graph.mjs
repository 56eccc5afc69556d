/**
 * Follows calls through the sources, with the symbols and types of the TypeScript compiler.
 *
 * A function stands for all that is written in it: callbacks and closures too, so that what a factory returns is the
 * factory. Names are followed to their declarations. A member of a type (`ports.check`) is followed to every value that an
 * object literal of the own files puts into it, or that another type has there whose object is passed on (`{ ...ports }`).
 * What a call makes (`const check = createCheck(…)`) is the function that was called, and the functions that it was given.
 *
 * So it follows calls that never happen, of members with several values. It does not follow what a function gets as a plain
 * parameter: who passes it, calls it. Nor is anything followed into files that are not the own ones.
 */
import ts from 'typescript'

/** @typedef {ts.FunctionLikeDeclaration & { readonly body: ts.Node }} Fn */

/** @param {ts.TypeChecker} checker */
function symbols(checker) {
  /** @param {ts.Symbol | undefined} symbol @returns {readonly ts.Declaration[]} */
  function declarationsOf(symbol) {
    if (symbol === undefined) return []
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    return (target.declarations ?? []).filter((one) => !one.getSourceFile().isDeclarationFile)
  }

  /** @param {ts.Type} type @param {string} name */
  const membersOf = (type, name) =>
    (type.isUnion() ? type.types : [type]).flatMap((part) => declarationsOf(checker.getPropertyOfType(part, name)))

  return { declarationsOf, membersOf }
}

/**
 * @param {ts.TypeChecker} checker
 * @param {readonly ts.SourceFile[]} files
 * @returns {ReadonlyMap<ts.Node, ReadonlySet<ts.Node>>} what object literals and passed objects put into a member
 */
function putIntoMembers(checker, files) {
  const { declarationsOf, membersOf } = symbols(checker)
  /** @type {Map<ts.Node, Set<ts.Node>>} */
  const put = new Map()

  /** @param {ts.Node} member @param {ts.Node} value */
  function into(member, value) {
    if (member !== value) put.set(member, (put.get(member) ?? new Set()).add(value))
  }

  /** An object of one type is used as another. @param {ts.Type} from @param {ts.Type} to */
  function relate(from, to) {
    if (from === to || !(to.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return
    for (const member of checker.getPropertiesOfType(to))
      for (const target of declarationsOf(member))
        for (const source of membersOf(from, member.name)) into(target, source)
  }

  /** @param {ts.ObjectLiteralExpression} literal */
  function fill(literal) {
    const type = checker.getContextualType(literal)
    if (type === undefined) return
    for (const member of literal.properties) {
      if (ts.isSpreadAssignment(member)) relate(checker.getTypeAtLocation(member.expression), type)
      else if (!ts.isComputedPropertyName(member.name))
        for (const target of membersOf(type, member.name.text)) into(target, member)
    }
  }

  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isObjectLiteralExpression(node)) fill(node)
    else if (ts.isCallExpression(node))
      for (const arg of node.arguments) {
        if (!ts.isIdentifier(arg) && !ts.isPropertyAccessExpression(arg)) continue
        const type = checker.getContextualType(arg)
        if (type !== undefined) relate(checker.getTypeAtLocation(arg), type)
      }
    if (!ts.isTypeNode(node)) ts.forEachChild(node, visit)
  }
  for (const file of files) visit(file)
  return put
}

/**
 * @param {ts.Program} program
 * @param {(path: string) => boolean} isOwn files that are followed into
 */
export function callGraph(program, isOwn) {
  const checker = program.getTypeChecker()
  const { declarationsOf, membersOf } = symbols(checker)
  const files = program.getSourceFiles().filter(({ fileName }) => isOwn(fileName))
  const put = putIntoMembers(checker, files)

  /** @param {ts.Node} node */
  const isCallable = (node) => checker.getTypeAtLocation(node).getCallSignatures().length > 0

  /**
   * @param {ts.Node | undefined} node an expression or a declaration
   * @param {Set<ts.Node>} seen
   * @returns {readonly Fn[]} the functions that it may be
   */
  function functionsOf(node, seen = new Set()) {
    if (node === undefined || seen.has(node)) return []
    seen.add(node)
    const each = (/** @type {readonly (ts.Node | undefined)[]} */ nodes) =>
      nodes.flatMap((one) => functionsOf(one, seen))
    const named = (/** @type {ts.Symbol | undefined} */ symbol) => each(declarationsOf(symbol))
    if (isFunction(node)) return isOwn(node.getSourceFile().fileName) ? [node] : []
    if (ts.isIdentifier(node)) return named(checker.getSymbolAtLocation(node))
    if (ts.isPropertyAccessExpression(node)) return named(checker.getSymbolAtLocation(node.name))
    if (ts.isCallExpression(node)) return each([node.expression, ...node.arguments.filter(isCallable)])
    if (ts.isConditionalExpression(node)) return each([node.whenTrue, node.whenFalse])
    if (ts.isBinaryExpression(node)) return each([node.left, node.right])
    if (ts.isShorthandPropertyAssignment(node)) return named(checker.getShorthandAssignmentValueSymbol(node))
    if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) return each([node.initializer])
    if (ts.isBindingElement(node)) {
      const name = (node.propertyName ?? node.name).getText()
      return each(membersOf(checker.getTypeAtLocation(node.parent), name))
    }
    if (ts.isPropertySignature(node) || ts.isMethodSignature(node)) return each([...(put.get(node) ?? [])])
    if ('expression' in node) return each([/** @type {ts.Node} */ (node.expression)])
    return []
  }

  /** @param {Fn} fn @returns {ReadonlySet<Fn>} the functions that it calls, or passes to others by name */
  function calleesOf(fn) {
    /** @type {Set<Fn>} */
    const callees = new Set()
    const visit = (/** @type {ts.Node} */ node) => {
      if (ts.isCallExpression(node))
        for (const one of [node.expression, ...node.arguments.filter((arg) => !isFunction(arg) && isCallable(arg))])
          for (const callee of functionsOf(one)) callees.add(callee)
      if (!ts.isTypeNode(node)) ts.forEachChild(node, visit)
    }
    visit(fn.body)
    return callees
  }

  return { calleesOf, functionsOf }
}

/** @param {ts.Node} node @returns {node is Fn} */
export function isFunction(node) {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined
}
