// Writes what follows from the table of processes (src/core/processes.ts): the services of docker-compose.yml and the files of
// their database users, the database users of scripts/make-secrets.sh, and the table of docs/architecture.md. Each stands between
// two marks.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { withPart } from './marked-part.mjs'

/** @typedef {import('../src/core/processes.ts').ProcessDeclaration & { readonly kind: string }} Process */

const root = fileURLToPath(new URL('..', import.meta.url))
/** How many numbered processes of a kind docker-compose.yml has. */
const NUMBERED = 3
const PART_OF_YAML = {
  services: { begin: '  # services: made by npm run processes\n', end: '  # end of services\n' },
  users: { begin: '  # users: made by npm run processes\n', end: '  # end of users\n' },
}
const PART_OF_SHELL = { begin: '# users: made by npm run processes\n', end: '# end of users\n' }
const PART_OF_PAGE = { begin: '<!-- processes: made by npm run processes -->\n', end: '<!-- end of processes -->' }

/** The numbers of the processes of a kind; an empty one where they have none. @param {Process} process @returns {readonly string[]} */
const numbersOf = ({ numbered }) => (numbered ? Array.from({ length: NUMBERED }, (_, at) => String(at + 1)) : [''])

/** The database user of a process, as files and variables name it. @param {Process} process @param {string} number */
const userOf = ({ databaseRole }, number) => (number === '' ? databaseRole : `${databaseRole}_${number}`)

/** A service as a text. @param {Process} process @param {string} number */
function serviceOf(process, number) {
  const { kind, secrets, service, needed } = process
  const { comment, options, knowsParties, settings = {}, networks, volumes } = service
  const url = `database_url_${userOf(process, number)}`
  const queues = networks.includes('queue')
  const files = [['DATABASE_URL', url], ...(queues ? [['REDIS_URL', 'redis_url']] : []), ...Object.entries(secrets)]
  const environment = [
    ...files.map(([setting, file]) => [`${setting}_FILE`, `/run/secrets/${file}`]),
    ...Object.entries(settings),
  ]
  const command = ['node', ...(options === undefined ? [] : [options]), `dist/bin/${kind}.js`]
  const comments = comment === undefined || Number(number) > 1 ? [] : comment.split('\n').map((line) => `# ${line}`)
  const lines = [
    ...comments,
    `${number === '' ? kind : `${kind}-${number}`}:`,
    '  <<: *bursar',
    ...(needed === 'for mpc wallets' ? ["  profiles: ['mpc']"] : []),
    `  command: [${command.map((word) => `'${word}'`).join(', ')}]`,
    '  environment:',
    `    <<: *${knowsParties ? 'mpc-environment' : 'environment'}`,
    ...environment.map(([name, value]) =>
      value === null ? `    ${name}:` : `    ${name}: ${yamlText(value, number)}`,
    ),
    `  secrets: [${[...files.map(([, file]) => file), 'postgres_ca'].join(', ')}]`,
    `  networks: [${networks.join(', ')}]`,
    ...(volumes === undefined ? [] : ['  volumes:', ...volumes.map((volume) => `    - ${volume}`)]),
    ...(queues ? [] : ['  depends_on:', '    migrate:', '      condition: service_completed_successfully']),
  ]
  return lines.map((line) => `  ${line.replaceAll('<n>', number)}\n`).join('')
}

/** Digits are a number in YAML unless they are quoted. @param {string | undefined} value @param {string} number */
function yamlText(value = '', number = '') {
  return /^\d+$/.test(value.replaceAll('<n>', number)) ? `'${value}'` : value
}

/**
 * @param {string} text docker-compose.yml
 * @param {readonly Process[]} processes
 */
export function composeFile(text, processes) {
  const all = processes.flatMap((process) => numbersOf(process).map((number) => ({ process, number })))
  const services = all.map(({ process, number }) => serviceOf(process, number)).join('\n')
  const users = all.map(({ process, number }) => `database_url_${userOf(process, number)}`)
  return withPart(
    withPart(text, PART_OF_YAML.services, services),
    PART_OF_YAML.users,
    users.map((name) => `  ${name}: { file: ./secrets/${name} }\n`).join(''),
  )
}

/**
 * @param {string} text scripts/make-secrets.sh
 * @param {readonly Process[]} processes
 */
export function secretsScript(text, processes) {
  const of = (/** @type {boolean} */ isNumbered) =>
    processes
      .filter(({ numbered }) => (numbered ?? false) === isNumbered)
      .flatMap((process) => numbersOf(process).map((number) => userOf(process, number)))
  return withPart(text, PART_OF_SHELL, `users='${[...of(false), 'operator', ...of(true)].join(' ')}'\n`)
}

/**
 * @param {string} page docs/architecture.md
 * @param {readonly Process[]} processes
 */
export function processesPage(page, processes) {
  const rows = processes.map(({ kind, does, howMany }) => `| \`${kind}\` | ${does} | ${howMany} |\n`)
  return withPart(page, PART_OF_PAGE, `\n| process | does | how many |\n|---|---|---|\n${rows.join('')}\n`)
}

/** The files that have such parts. */
export const PARTS = {
  'docker-compose.yml': composeFile,
  'scripts/make-secrets.sh': secretsScript,
  'docs/architecture.md': processesPage,
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(root)
  const { PROCESS_LIST } = await import(pathToFileURL(`${root}dist/src/core/processes.js`).href)
  for (const [path, write] of Object.entries(PARTS))
    writeFileSync(root + path, write(readFileSync(root + path, 'utf8'), PROCESS_LIST))
}
