/** The framework of all commands: arguments in; text or JSON, one-line errors, and exit codes out. */
import t from 'tap'
import { BadInput, type CliCommand, type CliInput } from '../../src/cli/command.ts'
import { InvalidSetting, NotFound, Unavailable } from '../../src/core/errors.ts'
import { runCommandLine, runProgramLine } from '../support/cli.ts'
import { matchExactly } from '../support/match-exactly.ts'

const heard: CliInput[] = []
const COMMANDS: readonly CliCommand[] = [
  {
    name: 'count',
    summary: 'counts things',
    details: 'Reads only.',
    arguments: [
      { name: '<thing>', description: 'what is counted' },
      { name: '[other]', description: 'what else' },
    ],
    options: [
      { flags: '--to <position|time>', description: 'until when' },
      { flags: '--dry-run', description: 'only look' },
      { flags: '--by <key>', description: 'the order', choices: ['name', 'size'] },
      { flags: '--skip <thing>', description: 'what is not counted', repeatable: true },
    ],
    async run(input, io) {
      heard.push(input)
      io.note('counted')
      io.print({ count: 2 }, io.table(['thing', 'count'], [['a longer thing', '2']]))
      return 1
    },
  },
  { name: 'audit verify', summary: 'verifies', run: async () => 0 },
  { name: 'hooks', summary: 'lists hooks', run: async () => 1 },
  { name: 'hooks listen', summary: 'listens', run: async () => 3 },
  {
    name: 'store',
    summary: 'stores',
    options: [{ flags: '--out <dir>', description: 'where', required: true }],
    run: async () => 0,
  },
  ...Object.entries({
    forbidden: Object.assign(new Error('permission denied for function place_jobs'), { code: '42501' }),
    misfit: new BadInput('--to must be a position or a time:\n such as 12'),
    absent: new NotFound('transaction'),
    unset: new InvalidSetting('MPC_PARTY', 'must be set.'),
    away: new Unavailable('database_unavailable', 'The database does not answer.'),
    unread: Object.assign(new Error('ENOENT: no such file, open x'), { code: 'ENOENT', syscall: 'open', path: 'x' }),
    full: Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' }),
    deaf: Object.assign(new Error('connect ENOENT /tmp/x'), { code: 'ENOENT', syscall: 'connect', address: '/tmp/x' }),
    cut: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    defect: new TypeError('a defect'),
  }).map(([name, error]) => ({ name, summary: 'fails', run: () => Promise.reject(error) })),
]
const run = (line: string) => runCommandLine(COMMANDS, line)

t.test('a command gets its arguments and options, and its code is the exit code', async (t) => {
  t.strictSame(await run('count coins --to 12 --dry-run'), {
    code: 1,
    out: 'thing           count\na longer thing  2\n',
    err: 'counted\n',
  })
  t.strictSame(heard.at(-1), { arguments: ['coins', undefined], options: { to: '12', dryRun: true } })
})

t.test('a command may have subcommands', async (t) => {
  matchExactly(t, [await run('hooks'), await run('hooks listen')], [{ code: 1 }, { code: 3 }])
  t.match(await run('hooks nothing'), { code: 2, err: /nothing|argument/ })
})

t.test('an option may be required, be one of several values, or be repeated', async (t) => {
  await run('count coins --skip a --skip b --by size')
  t.strictSame(heard.at(-1)?.options, { skip: ['a', 'b'], by: 'size' })
  t.equal((await run('store --out x')).code, 0)
  t.match((await run('store --help')).out, /--out <dir> +where \(required\)/)
  t.match((await run('count --help')).out, /--skip <thing> +what is not counted \(may be repeated\)/)
})

t.test('a program may prefix its error lines, and exit with 1 when an input is refused', async (t) => {
  const program = {
    name: 'keys',
    description: 'Under test.',
    commands: COMMANDS,
    refused: 1,
    errorLine: (message: string) => `keys: ${message}`,
  } as const
  t.strictSame(await runProgramLine(program, 'absent'), { code: 1, out: '', err: 'keys: No such transaction.\n' })
  t.match(await runProgramLine(program, 'misfit'), { code: 2, err: /^keys: --to must be/ })
  const usage = "keys: unknown option '--out' (add --help for usage)\n"
  t.strictSame(await runProgramLine(program, 'count a --out x'), { code: 2, out: '', err: usage })
  t.match((await runProgramLine(program, '--help')).out, /^Usage: npm run keys -- /)
})

t.test('with --json standard output is one line of JSON', async (t) => {
  t.strictSame(await run('count coins --json'), { code: 1, out: '{"count":2}\n', err: 'counted\n' })
})

t.test('two words name a command of a group', async (t) => {
  t.equal((await run('audit verify')).code, 0)
})

t.test('help is printed on standard output, with the exit codes, and exits with 0', async (t) => {
  const all = await run('--help')
  t.equal(all.code, 0)
  t.match(all.out, /count .*counts things/)
  t.match(all.out, /Exit codes: 0/)
  const one = await run('count --help')
  t.match(one.out, /--to <position\|time> +until when/)
  t.match(one.out, /Reads only\./)
})

for (const [line, expected] of [
  ['cuont coins', /unknown command 'cuont'/],
  ['count', /missing required argument 'thing'/],
  ['count a b c', /too many arguments/],
  ['count a --too 3', /unknown option '--too'/],
  ['count a --to', /option '--to <position\|time>' argument missing/],
  ['count a --to --dry-run', /option '--to <position\|time>' argument '--dry-run' is invalid. The value is missing/],
  ['count a --by colour', /option '--by <key>' .* Allowed choices are name, size/],
  ['store', /required option '--out <dir>' not specified/],
  ['store --out=', /option '--out <dir>' .* The value is missing/],
] as const) {
  t.test(`${line}: wrong usage is reported and exits with 2`, async (t) => {
    const { code, out, err } = await run(line)
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, expected)
  })
}

for (const [name, code, line] of [
  ['misfit', 2, '--to must be a position or a time: such as 12\n'],
  ['absent', 2, 'No such transaction.\n'],
  ['unset', 2, 'MPC_PARTY must be set.\n'],
  ['away', 3, 'The database does not answer.\n'],
  ['unread', 1, 'ENOENT: no such file, open x\n'],
  ['full', 1, 'ENOSPC: no space left on device, write\n'],
  [
    'forbidden',
    1,
    'permission denied for function place_jobs: run this command with the database user of the operator\n',
  ],
  ['deaf', 3, 'connect ENOENT /tmp/x\n'],
  ['cut', 3, 'connect ECONNREFUSED\n'],
] as const) {
  t.test(`${name}: the error is one line, and the exit code gives its kind`, async (t) => {
    t.strictSame(await run(name), { code, out: '', err: line })
  })
}

t.test('an unexpected error is not reported as another kind of failure', async (t) => {
  await t.rejects(run('defect'), new TypeError('a defect'))
})
