// Checks the packages and scripts of the project against its files: the dependency page, the lock, the stubs.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { defects, missingOptionals, platformOf } from '../../scripts/complete-lockfile.mjs'
import { matchExactly } from '../support/match-exactly.ts'

type PackageJson = {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const packageJson = JSON.parse(read('package.json')) as PackageJson
const atRunTime = { ...packageJson.dependencies, ...packageJson.optionalDependencies }
const declared = { ...atRunTime, ...packageJson.devDependencies }

t.test('every dependency is pinned and has its reason, and no reason is left without its dependency', (t) => {
  const page = read('docs/dependencies.md')
  const lines = [...page.matchAll(/^\| `([^`]+)` \| (\S.*?) \|/gm)].map(([, name]) => name ?? '')
  t.strictSame(lines.toSorted(), Object.keys(declared).toSorted())
  t.strictSame(
    Object.entries(declared).filter(([, version]) => !/^(\d+\.\d+\.\d+(-[\w.]+)?|file:stubs\/[\w-]+)$/.test(version)),
    [],
  )
  const runTime = page.slice(0, page.indexOf('## For development'))
  t.strictSame(
    Object.keys(atRunTime).filter((name) => !runTime.includes(`| \`${name}\` |`)),
    [],
    'each run-time dependency stands in its section',
  )
  t.end()
})

t.test('a stub takes the place of its package everywhere', (t) => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { link?: boolean }> }
  for (const name of Object.keys(declared).filter((each) => declared[each]?.startsWith('file:'))) {
    const installed = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`))
    matchExactly(t, installed, [[`node_modules/${name}`, { link: true }]], `${name} has the required version`)
  }
  t.end()
})

t.test('every script names files that exist', (t) => {
  const words = Object.values(packageJson.scripts).flatMap((script) => script.split(' '))
  const paths = words.filter((word) => /\.(ts|mjs)$/.test(word) && !word.includes('*'))
  const built = words.filter((_, index) => words[index - 1] === 'scripts/run.mjs').map((entry) => `workers/${entry}.ts`)
  t.ok(paths.length > 0 && built.length > 0)
  t.strictSame(
    [...paths, ...built].filter((path) => !existsSync(`${root}${path}`)),
    [],
  )
  t.end()
})

t.test(
  'no package runs a script when it is installed, and this project needs none of those that npm then skips',
  (t) => {
    t.match(read('.npmrc'), /^ignore-scripts=true$/m)
    const names = Object.keys(packageJson.scripts)
    const skipped = names.filter((name) => /^(prepare|install|pre|post)/.test(name))
    t.strictSame(skipped, [])
    t.end()
  },
)

t.test('the lock file has every platform, a digest of each package and no download addresses', (t) => {
  t.strictSame(defects(JSON.parse(read('package-lock.json')).packages), [])

  const packages = {
    '': {},
    'node_modules/a': {
      integrity: 'sha512-a',
      optionalDependencies: { 'a-linux-x64': '1.0.0', 'a-darwin-arm64': '1.0.0' },
    },
    'node_modules/a/node_modules/a-linux-x64': { version: '1.0.0', resolved: 'https://registry.example/a.tgz' },
    'node_modules/linked': { link: true },
  }
  t.strictSame(missingOptionals(packages), [{ parent: 'node_modules/a', name: 'a-darwin-arm64', version: '1.0.0' }])
  t.strictSame(defects(packages), [
    'a-darwin-arm64, an optional dependency of node_modules/a, is missing',
    'node_modules/a/node_modules/a-linux-x64 contains the URL of its download',
    'node_modules/a/node_modules/a-linux-x64 has no digest of its contents',
  ])
  t.strictSame(platformOf('@x/cli-linux-x64-musl'), { cpu: ['x64'], os: ['linux'], libc: ['musl'] })
  t.strictSame(platformOf('@x/tool-win32-amd64'), { cpu: ['x64'], os: ['win32'] })
  t.throws(() => platformOf('@x/tool'), /has no platform in its name/)
  t.end()
})
