/** The recovery command line: arguments in, parsed requests out; invalid ones are refused before anything is opened. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { createIdentity } from '../../src/recovery/age.ts'
import { parseRecoveryArguments } from '../../src/recovery/command/arguments.ts'
import { recoveryCommand } from '../../src/recovery/command/recovery-command.ts'
import { WrongUsage } from '../../src/recovery/command/usage.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const AGE = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z'
const words = (line: string) => line.split(' ').filter(Boolean)
const SWEEP = `sweep --kit a --kit b --identity i --wallet ${ADDRESS} --to ${ADDRESS} --chain-id 1 --nonce 0 --gas-limit 21000 --max-fee-per-gas 2 --max-priority-fee-per-gas 1`

t.test('each command is read with its options', async (t) => {
  const parse = (line: string) => parseRecoveryArguments(words(line))
  t.strictSame(parse('help'), { name: 'help' })
  t.strictSame(parse('backup --help'), { name: 'help' })
  t.strictSame(parse('keygen --out id --json'), { name: 'keygen', json: true, out: 'id' })
  const request = { out: 'kit', recipients: [AGE], parts: null, tenant: null, force: false }
  t.strictSame(parse(`backup --out kit --recipient ${AGE} --recipient ${AGE}`), {
    name: 'backup',
    json: false,
    request,
  })
  const chosen = parse(`backup --out kit --recipient ${AGE} --part hd --part party-2 --tenant acme --force`)
  t.match(chosen, { request: { parts: ['hd', 'party-2'], tenant: 'acme', force: true } })
  const places = { kits: ['a', 'b'], identityFiles: ['i', '-'] }
  t.strictSame(parse('verify --kit a --kit b --identity i --identity - --against-database'), {
    name: 'verify',
    json: false,
    places,
    againstDatabase: true,
  })
  t.match(parse('restore --kit a --identity i --tenant acme'), {
    name: 'restore',
    tenant: 'acme',
    places: { kits: ['a'] },
  })
  const swept = parse(`${SWEEP} --value 12345678901234567890123456789`)
  t.match(swept, { name: 'sweep', places: { kits: ['a', 'b'] }, request: { wallet: ADDRESS, chainId: 1, nonce: 0 } })
  t.match(swept, { request: { payload: { kind: 'value', to: ADDRESS, value: 12345678901234567890123456789n } } })
  t.match(parse(`${SWEEP} --balance 5`), { request: { payload: { kind: 'balance', balance: 5n } } })
  t.match(parse(`${SWEEP} --balance 0xDE0B6B3A7640000`), { request: { payload: { balance: 10n ** 18n } } })
  t.match(parse(`${SWEEP} --data 0xAB`), { request: { payload: { kind: 'call', data: '0xab', value: 0n } } })
  t.match(parse(`${SWEEP} --data 0xab --value 7`), { request: { payload: { kind: 'call', value: 7n } } })
  const token = parse(`${SWEEP} --token ${ADDRESS.toLowerCase()} --amount 7`)
  t.match(token, { request: { payload: { kind: 'token', token: ADDRESS, amount: 7n } } })
})

t.test('what cannot be meant is refused in one line that says what would do', async (t) => {
  const without = (option: string) => SWEEP.replace(new RegExp(` --${option} \\S+`, 'g'), '')
  const wrong: readonly [string, RegExp][] = [
    ['', /no command given: keygen, backup, verify, restore, sweep/],
    ['recover', /unknown command: recover/],
    ['restore --kit a --identity i --tenant ../x', /--tenant must be/],
    ['restore --kit a --identity i --force', /restore has no option --force/],
    ['keygen', /--out FILE is missing/],
    ['keygen --out id --force', /keygen has no option --force/],
    ['keygen id', /takes only options, not "id"/],
    ['verify --kit', /--kit/],
    ['verify --nonsense', /--nonsense/],
    ['backup --out kit', /--recipient is missing/],
    [`backup --recipient ${AGE}`, /--out DIR is missing/],
    [`backup --out kit --recipient ${AGE} --part party-0`, /--part must be hd or party-N/],
    [`backup --out kit --recipient ${AGE} --part ../hd`, /--part must be/],
    [`backup --out kit --recipient ${AGE} --tenant ../x`, /--tenant must be/],
    ['verify --identity i', /--kit DIR is missing/],
    ['verify --kit a', /--identity FILE is missing/],
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
    [`${without('to')} --value 1`, /--to is missing/],
    [`${without('nonce')} --value 1`, /--nonce is missing/],
    [`${without('wallet')} --wallet ${ADDRESS.replace('C8', 'c8')} --value 1`, /--wallet has upper and lower case/],
    [`${without('to')} --to 0x${'00'.repeat(20)} --value 1`, /zero address/],
    [`${without('chain-id')} --chain-id 0 --value 1`, /--chain-id must be a whole number of at least 1/],
    [`${without('nonce')} --nonce ${2n ** 53n} --value 1`, /--nonce must be/],
    [`${without('gas-limit')} --gas-limit 20999 --value 1`, /--gas-limit must be at least 21000/],
    [`${without('max-fee-per-gas')} --max-fee-per-gas 0 --value 1`, /must be at most --max-fee-per-gas/],
  ]
  for (const [line, message] of wrong) {
    const { error } = attempt(line)
    t.ok(error instanceof WrongUsage, line)
    t.match(error, { message }, line)
  }
})

function attempt(line: string): { readonly error: unknown } {
  try {
    parseRecoveryArguments(words(line))
    return { error: null }
  } catch (error) {
    return { error }
  }
}

async function run(line: string, broken?: Error) {
  const out: string[] = []
  const err: string[] = []
  const io = {
    backUp: () => Promise.reject(broken ?? new Error('not asked for')),
    currentWallets: () => Promise.reject(new Error('not asked for')),
    restoreSeeds: () => Promise.reject(new Error('not asked for')),
    stdin: async () => '',
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
  }
  return { code: await recoveryCommand(words(line), io), out: out.join(''), err: err.join('') }
}

t.test('the exit code says what went wrong, and one line on stderr', async (t) => {
  t.match(await run('help'), { code: 0, out: /^usage: npm run recovery/, err: '' })
  t.match(await run('nothing'), { code: 2, out: '', err: /^recovery: unknown command: nothing \(see: .* help\)\n$/ })
  const away = new Unavailable('database_unavailable', 'the database\n  is away')
  const line = `backup --out kit --recipient ${AGE}`
  t.match(await run(line, away), { code: 3, out: '', err: 'recovery: the database is away\n' })
  await t.rejects(
    run(line, new TypeError('a defect')),
    { message: 'a defect' },
    'a defect is not made to look like a refusal',
  )
})

t.test('a secret key in the place of a recipient is not repeated', async (t) => {
  const { identity } = await createIdentity()
  for (const line of [`keygen ${identity} --out x`, `verify --kit a --identity ${identity}`, `${identity}`]) {
    const { code, err } = await run(line)
    t.ok(code > 0)
    t.notOk(err.includes(identity), line.slice(0, 6))
  }
})
