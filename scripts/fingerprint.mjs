// One SHA-256 over a set of files, including their names; the build uses it to detect changes.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/**
 * Every file below the given files and folders, sorted, so that the result is the same on every machine.
 *
 * @param {string} root folder that the entries are relative to
 * @param {readonly string[]} entries files and folders; those that do not exist are left out
 * @returns {string[]} paths relative to `root`, with `/` between the parts
 */
export function filesBelow(root, entries) {
  const found = []
  for (const entry of entries) {
    const path = join(root, entry)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) continue
    if (stats.isFile()) found.push(path)
    else
      for (const child of readdirSync(path, { recursive: true, withFileTypes: true }))
        if (child.isFile()) found.push(join(child.parentPath, child.name))
  }
  return found.map((path) => relative(root, path).split(sep).join('/')).sort()
}

/**
 * @param {string} root folder that the paths are relative to
 * @param {readonly string[]} paths files, in a stable order
 * @param {string} [salt] what else the result depends on, such as a tool's version
 * @returns {string} lower-case hexadecimal SHA-256
 */
export function fingerprint(root, paths, salt = '') {
  const hash = createHash('sha256').update(salt)
  for (const path of paths) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}
