/** Which tests on real nodes run. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SCRIPT = fileURLToPath(new URL('../../scripts/node-tests.mjs', import.meta.url))

function run(t: { readonly testdirName: string }, ...args: readonly string[]) {
  // Neither Go nor a binary of geth is there, unless the project has its own Go.
  const env = { PATH: '', HOME: t.testdirName, XDG_CACHE_HOME: t.testdirName }
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('a node that is not known is refused with those that are', (t) => {
  t.match(run(t, 'parity'), {
    status: 1,
    stderr: /no node is named parity: use geth-osaka, geth-amsterdam, geth-crossing, hardhat/,
  })
  t.end()
})

t.test('geth is not prepared for tests that do not need it', (t) => {
  t.strictSame(run(t, '--prepare', 'hardhat'), { status: 0, stdout: '', stderr: '' })
  t.end()
})
