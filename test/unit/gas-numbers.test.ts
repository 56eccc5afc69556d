/** The gas numbers of the product are in files of their own: a fork changes them, and must find all of them. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const ROOT = new URL('../../', import.meta.url)
/** Those of capabilities have a number for each set of rules. */
const GAS_FILES = /^src\/(chain\/forks|[^/]+\/(contracts\/)?gas-rules)\.ts$/

/** Literals of a thousand or more that count something else. */
const OTHER_UNITS =
  /\b(BPS|PPM|ppm|GWEI|DOLLAR|dollars|_WEI|WEI_|_USDC|PRICE|price|SQRT|UINT\d+|POSITION|ADDRESS|TAG_ROOM|FEE_PROBE|USD)/
const NOT_GAS = new Set(['1_024n', '10_000n', '1_000_000n', '1_000_000_000n', '50000000n', '4295128739n'])
const LARGE = /\b\d{1,3}(?:_\d{3})+n\b|\b\d{4,12}n\b|\b[12]n (?:<<|\*\*) [123]\dn/g
/** Numbers that are gas whatever stands beside them. */
const SURELY = /\b21_?000n?\b|\b100_000n\b|\b1n << 24n|\b2n \*\* 24n|\b16_?777_?216n?\b/
/** Numbers of other kinds in lines that speak of gas. */
const IN_GAS_LINE = /\bgas\w*\b[^'"`]*?[:=(]\s*\d{1,3}(?:_\d{3})+n?\b/i

function findGasNumbers(path: string, text: string): string[] {
  let isComment = false
  return text.split('\n').flatMap((line, index) => {
    const code = line.trim()
    if (code.startsWith('/*')) isComment = true
    const skipped = isComment || code.startsWith('//')
    if (code.includes('*/')) isComment = false
    if (skipped) return []
    const large = (code.match(LARGE) ?? []).filter((literal) => !NOT_GAS.has(literal))
    const isGas = SURELY.test(code) || IN_GAS_LINE.test(code) || (large.length > 0 && !OTHER_UNITS.test(code))
    return isGas ? [`${path}:${index + 1}: ${code}`] : []
  })
}

t.test('no file but those of gas numbers has one', (t) => {
  const files = ['src', 'workers'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.ts') && !GAS_FILES.test(path) && !path.startsWith('src/generated/')),
  )
  t.ok(files.length > 500, `${files.length} files`)
  t.strictSame(
    files.flatMap((path) => findGasNumbers(path, readFileSync(new URL(path, ROOT), 'utf8'))),
    [],
  )
  t.end()
})

t.test('a gas number outside of it is found', (t) => {
  for (const line of ['export const PLAIN_TRANSFER_GAS = 21_000n', 'const MAX = 1n << 24n', '  v3: { base: 65_000n },'])
    t.equal(findGasNumbers('src/a.ts', line).length, 1, line)
  for (const line of ['const BPS = 10_000n', '/** 21,000 gas: 21_000n. */', 'const PRICE_LIMIT = 10n ** 20n'])
    t.strictSame(findGasNumbers('src/a.ts', line), [], line)
  t.end()
})
