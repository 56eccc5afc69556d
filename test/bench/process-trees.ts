/** The processes of the sandbox and their children, from /proc. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Service } from '../support/service.ts'

/** The name of the parent of all processes of the sandbox. */
export const PARENT = 'sandbox'

export type NamedProcess = { readonly name: string; readonly pid: number }

/**
 * By the name of the process: its pid, then those of its children and theirs. The parent is listed without children.
 *
 * @param added further processes, which count together with the one of the same name
 */
export function processTrees(
  service: Service,
  added: readonly NamedProcess[] = [],
): ReadonlyMap<string, readonly number[]> {
  const parents = readParents()
  const { processes } = service.state()
  const trees = new Map<string, readonly number[]>()
  for (const { name, pid } of [...processes, ...added])
    trees.set(name, [...(trees.get(name) ?? []), ...treeOf(parents, pid)])
  const parent = parents.get(processes.find(({ name }) => name === 'api')?.pid ?? 0)
  if (parent !== undefined) trees.set(PARENT, [parent])
  return trees
}

/** proc_pid_stat(5): the name of the program, before the parent, may contain spaces and parentheses. */
export function statFields(text: string): readonly number[] {
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

function treeOf(parents: ReadonlyMap<number, number>, pid: number): readonly number[] {
  const children = [...parents].filter(([, parent]) => parent === pid)
  return [pid, ...children.flatMap(([child]) => treeOf(parents, child))]
}

function readParents(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const [, parent = 0] = statFields(readFileSync(`/proc/${entry}/stat`, 'utf8'))
      parents.set(Number(entry), parent)
    } catch {
      // It ended after the directory was read.
    }
  }
  return parents
}
