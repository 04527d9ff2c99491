// node job.js mysql2 | pg | mariadb: the job of this folder's README, clear or encrypted as the environment says (TLS, CIPHERS).
// The key log is Node's own: NODE_OPTIONS=--tls-keylog=FILE.
const { TLS = 'clear', CIPHERS, LATPCAP_HOST, NODE_PATH } = process.env;
const place = { host: LATPCAP_HOST || '10.77.0.2', user: 'lab', password: 'labpw', database: 'lab' };
const ssl = TLS === 'clear' ? undefined
  : { rejectUnauthorized: false, minVersion: TLS, maxVersion: TLS, ...(CIPHERS && { ciphers: CIPHERS }) };
const pairs = 'SELECT emp_no, salary FROM salaries WHERE emp_no = ';
const all = 'SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300';
const one = 'SELECT first_name FROM employees WHERE emp_no = ';

async function work(query, prepared) {
  let rows = 0;
  for (let key = 1; key <= 20; key++) rows += (await query(pairs, key)).length;
  rows += (await query(all)).length;
  for (let key = 1; key <= 3; key++) rows += (await prepared(key)).length;
  await query('SELECT nothing FROM nowhere').then(() => { throw new Error('an error was expected'); }, () => undefined);
  return rows;
}

const jobs = {
  async mysql2() {
    const client = await require('mysql2/promise').createConnection({ ...place, ssl });
    const query = async (text, key) => (await (key ? client.query(text + '?', [key]) : client.query(text)))[0];
    const rows = await work(query, async (key) => (await client.execute(one + '?', [key]))[0]);
    await client.end();
    return rows;
  },
  async mariadb() {
    const client = await require('mariadb').createConnection({ ...place, ssl });
    const rows = await work((text, key) => (key ? client.query(text + '?', [key]) : client.query(text)), (key) => client.execute(one + '?', [key]));
    await client.end();
    return rows;
  },
  async pg() {
    const client = new (require('pg').Client)({ ...place, ssl: ssl || false });
    await client.connect();
    const query = async (text, key) => (await (key ? client.query(text + '$1', [key]) : client.query(text))).rows;
    const rows = await work(query, async (key) => (await client.query({ name: 'one', text: one + '$1', values: [key] })).rows);
    await client.end();
    return rows;
  },
};

const [job] = process.argv.slice(2);
const client = `${job} ${JSON.parse(require('fs').readFileSync(`${NODE_PATH}/${job}/package.json`)).version}, Node ${process.versions.node}`;
jobs[job]().then((rows) => console.log(JSON.stringify({ client, statements: 25, rows, errors: 1 })));
