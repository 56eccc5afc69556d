/** The recovery command line: arguments in, parsed requests out; invalid ones are refused before anything is opened. */
import t from 'tap'
import type { CliInput } from '../../src/cli/command.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { createIdentity } from '../../src/keys/age.ts'
import { readBackup } from '../../src/recovery/command/backup-options.ts'
import { recoveryProgram } from '../../src/recovery/command/recovery-program.ts'
import { readSweep } from '../../src/recovery/command/sweep-options.ts'
import { runProgramLine } from '../support/cli.ts'
import { OFFLINE, runRecovery } from '../support/recovery.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const AGE = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'
const SWEEP = `sweep --kit a --kit b --identity i --wallet ${ADDRESS} --to ${ADDRESS} --chain-id 1 --nonce 0 --gas-limit 21000 --max-fee-per-gas 2 --max-priority-fee-per-gas 1`

/** The options that a command gets from a command line. */
async function optionsOf(line: string): Promise<CliInput['options']> {
  const { commands, ...program } = recoveryProgram({ ...OFFLINE, stdin: async () => '' })
  const heard: CliInput[] = []
  const listening = commands.map((command) => ({
    ...command,
    run: async (input: CliInput) => {
      heard.push(input)
      return 0 as const
    },
  }))
  const { err } = await runProgramLine({ ...program, commands: listening }, line)
  t.equal(err, '', line)
  return heard[0]?.options ?? {}
}

t.test('each command gets its options', async (t) => {
  t.strictSame(await optionsOf('keygen --out id --json'), { out: 'id' })
  const request = { out: 'kit', recipients: [AGE], parts: null, tenant: null, force: false, signedBy: [] }
  const backup = async (line: string) => readBackup(await optionsOf(`backup --out kit --recipient ${AGE} ${line}`))
  t.strictSame(await backup(`--recipient ${AGE}`), request)
  t.strictSame(await backup('--part hd --part party-2 --tenant acme --force'), {
    ...request,
    parts: ['hd', 'party-2'],
    tenant: 'acme',
    force: true,
  })
  const places = { kit: ['a', 'b'], identity: ['i', '-'] }
  t.strictSame(await optionsOf('verify --kit a --kit b --identity i --identity - --against-database'), {
    ...places,
    againstDatabase: true,
  })
  t.strictSame(await optionsOf('restore --kit a --kit b --identity i --identity - --tenant acme'), {
    ...places,
    tenant: 'acme',
  })
})

t.test('a sweep reads amounts in full, in decimal digits and as 0x and hex digits', async (t) => {
  const sweep = async (line: string) => readSweep(await optionsOf(`${SWEEP} ${line}`))
  const swept = await sweep('--value 12345678901234567890123456789')
  t.match(swept, {
    wallet: ADDRESS,
    chainId: 1,
    nonce: 0,
    gasLimit: 21_000n,
    maxFeePerGas: 2n,
    maxPriorityFeePerGas: 1n,
  })
  t.match(swept, { payload: { kind: 'value', to: ADDRESS, value: 12345678901234567890123456789n } })
  t.match(await sweep('--balance 5'), { payload: { kind: 'balance', balance: 5n } })
  t.match(await sweep('--balance 0xDE0B6B3A7640000'), { payload: { balance: 10n ** 18n } })
  t.match(await sweep('--data 0xAB'), { payload: { kind: 'call', data: '0xab', value: 0n } })
  t.match(await sweep('--data 0xab --value 7'), { payload: { kind: 'call', value: 7n } })
  const token = await sweep(`--token ${ADDRESS.toLowerCase()} --amount 7`)
  t.match(token, { payload: { kind: 'token', token: ADDRESS, amount: 7n } })
})

t.test('an invalid command line exits with 2 and one line that names the option', async (t) => {
  const without = (option: string) => SWEEP.replace(new RegExp(` --${option} \\S+`, 'g'), '')
  const wrong: readonly [string, RegExp][] = [
    ['recover', /unknown command 'recover'/],
    ['restore --kit a --identity i --tenant ../x', /--tenant must be/],
    ['restore --kit a --identity i --out b', /unknown option '--out'/],
    ['keygen', /required option '--out <file>' not specified/],
    ['keygen --out id --force', /unknown option '--force'/],
    ['keygen --out=', /'--out <file>' .*The value is missing/],
    ['keygen --out id id', /too many arguments for 'keygen'/],
    ['verify --kit', /'--kit <dir>' argument missing/],
    ['verify --kit --identity i', /'--kit <dir>' .*The value is missing/],
    ['verify --kit a --identity i --nonsense', /unknown option '--nonsense'/],
    ['backup --out kit', /required option '--recipient <age1>' not specified/],
    [`backup --recipient ${AGE}`, /required option '--out <dir>' not specified/],
    [`backup --out kit --recipient ${AGE} --part party-0`, /--part must be hd or party-N/],
    [`backup --out kit --recipient ${AGE} --part ../hd`, /--part must be/],
    [`backup --out kit --recipient ${AGE} --tenant ../x`, /--tenant must be/],
    ['verify --identity i', /required option '--kit <dir>' not specified/],
    ['verify --kit a', /required option '--identity <file>' not specified/],
    [SWEEP, /use one of/],
    [`${SWEEP} --value 1 --balance 2`, /, not --value with --balance/],
    [`${SWEEP} --token ${ADDRESS} --amount 1 --value 1`, /, not/],
    [`${SWEEP} --amount 1`, /, not --amount/],
    [`${SWEEP} --token ${ADDRESS}`, /--amount is missing/],
    [`${SWEEP} --data 0xabc`, /--data must be call data/],
    [`${SWEEP} --data 0x`, /--data must be call data/],
    ...['1.5', '-1', '1e18', '0x', '0xg', '0b1', '', `${2n ** 256n}`].map((value): [string, RegExp] => [
      `${SWEEP} --value=${value}`,
      /--value must be a whole number in base units/,
    ]),
    [`${without('to')} --value 1`, /required option '--to <address>' not specified/],
    [`${without('nonce')} --value 1`, /required option '--nonce <n>' not specified/],
    [
      `${without('wallet')} --wallet ${ADDRESS.replace('C8', 'c8')} --value 1`,
      /--wallet does not match its EIP-55 checksum/,
    ],
    [`${without('to')} --to 0x${'00'.repeat(20)} --value 1`, /zero address/],
    [`${without('chain-id')} --chain-id 0 --value 1`, /--chain-id must be a whole number of at least 1/],
    [`${without('nonce')} --nonce ${2n ** 53n} --value 1`, /--nonce must be/],
    [`${without('gas-limit')} --gas-limit 20999 --value 1`, /--gas-limit must be at least 21000/],
    [`${without('max-fee-per-gas')} --max-fee-per-gas 0 --value 1`, /must be at most --max-fee-per-gas/],
  ]
  for (const [line, message] of wrong) {
    const { code, out, err } = await runRecovery(OFFLINE, line)
    t.strictSame([code, out], [2, ''], line)
    t.match(err, /^recovery: [^\n]*\n$/)
    t.match(err, message)
  }
})

t.test('the exit code says what went wrong, and one line on stderr', async (t) => {
  t.match(await runRecovery(OFFLINE, 'help'), { code: 0, out: /^Usage: npm run recovery/, err: '' })
  t.match(await runRecovery(OFFLINE, ''), { code: 2, out: '', err: /^Usage: npm run recovery/ })
  const line = `backup --out kit --recipient ${AGE}`
  const broken = (error: Error) => runRecovery({ ...OFFLINE, backUp: () => Promise.reject(error) }, line)
  t.match(await broken(new Unavailable('database_unavailable', 'the database\n  is away')), {
    code: 3,
    out: '',
    err: 'recovery: the database is away\n',
  })
  t.match(await broken(Object.assign(new Error('ENOSPC: no space left, write'), { syscall: 'write' })), { code: 1 })
  await t.rejects(
    broken(new TypeError('a defect')),
    { message: 'a defect' },
    'an unexpected error is thrown, not reported as a refusal',
  )
})

t.test('a secret key in the place of a recipient is not repeated', async (t) => {
  const { identity } = await createIdentity()
  const lines = [
    `keygen ${identity} --out x`,
    `verify --kit a --identity ${identity}`,
    `backup --out x --recipient=--${identity}`,
    `verify --${identity}`,
    identity,
  ]
  for (const line of lines) {
    const { code, err } = await runRecovery(OFFLINE, line)
    t.ok(code > 0)
    t.notOk(err.includes(identity), line.slice(0, 6))
  }
})
