// node jobs.js mysql2 | pg | typeorm-mysql | typeorm-postgresql | sequelize-mysql | sequelize-postgresql: the job of benchmarks/clients/README.md.
const place = { host: process.env.LATPCAP_HOST || '10.77.0.2', user: 'lab', password: 'labpw', database: 'lab' };

const refused = (promise) => promise.then(() => Promise.reject(new Error('an error was expected')), () => undefined);

const jobs = {
  // Text with the values written into it, then the binary protocol, which prepares a text once.
  async mysql2() {
    const client = await require('mysql2/promise').createConnection(place);
    const read = async (...query) => (await client.query(...query))[0];
    const authors = await read('select id, name from authors order by id');
    let rows = authors.length;
    for (const { id } of authors) rows += (await read('select id, title from books where author_id = ?', [id])).length;
    for (let id = 1; id <= 10; id++) rows += (await client.execute('select title, price from books where id = ?', [id]))[0].length;
    await client.beginTransaction();
    for (let id = 1; id <= 3; id++) await client.execute('update books set price = price + 1 where id = ?', [id]);
    await client.commit();
    await refused(client.query('select nothing from nowhere'));
    rows += (await read('select id, title from books order by id')).length;
    await client.end();
    return rows;
  },

  // Its end() waits for the server to close the connection.
  async pg() {
    const { Client } = require('pg');
    const Cursor = require('pg-cursor');
    const client = new Client(place);
    await client.connect();
    const read = async (...query) => (await client.query(...query)).rows;
    const authors = await read('select id, name from authors order by id');
    let rows = authors.length;
    for (const { id } of authors) rows += (await read('select id, title from books where author_id = $1', [id])).length;
    for (let id = 1; id <= 10; id++) rows += (await read({ name: 'one', text: 'select title, price from books where id = $1', values: [id] })).length;
    await client.query('begin');
    for (let id = 1; id <= 3; id++) await client.query('update books set price = price + 1 where id = $1', [id]);
    await client.query('commit');
    await refused(client.query('select nothing from nowhere'));
    const cursor = client.query(new Cursor('select id, title from books order by id'));
    for (let some; (some = await cursor.read(100)).length; ) rows += some.length;
    await cursor.close();
    await client.end();
    return rows;
  },

  // Lazy relations are promises: each author's books are read when they are awaited.
  async typeorm(type) {
    const { DataSource, EntitySchema } = require('typeorm');
    const integer = { type: 'int' };
    const Author = new EntitySchema({
      name: 'Author', tableName: 'authors', columns: { id: { ...integer, primary: true }, name: { type: 'varchar' } },
      relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author', lazy: true } },
    });
    const Book = new EntitySchema({
      name: 'Book', tableName: 'books', columns: { id: { ...integer, primary: true }, title: { type: 'varchar' }, price: integer },
      relations: { author: { type: 'many-to-one', target: 'Author', joinColumn: { name: 'author_id' }, inverseSide: 'books' } },
    });
    const { user: username, ...where } = place;
    const pool = { max: 1, connectionLimit: 1 };
    const source = await new DataSource({ type, ...where, username, entities: [Author, Book], extra: pool }).initialize();
    const authors = await source.getRepository(Author).find({ order: { id: 'ASC' } });
    let rows = authors.length;
    for (const author of authors) rows += (await author.books).length;
    for (let id = 1; id <= 10; id++) rows += (await source.getRepository(Book).findOneBy({ id })) ? 1 : 0;
    await source.transaction(async (outer) => {
      for (let id = 1; id <= 3; id++) await outer.transaction((inner) => inner.getRepository(Book).increment({ id }, 'price', 1)); // savepoints
    });
    await refused(source.query('select nothing from nowhere'));
    rows += (await source.query('select id, title from books order by id')).length;
    await source.destroy();
    return rows;
  },

  async sequelize(dialect) {
    const { Sequelize, DataTypes } = require('sequelize');
    const sequelize = new Sequelize(place.database, place.user, place.password, {
      host: place.host, dialect, logging: false, pool: { max: 1 }, define: { timestamps: false, underscored: true },
    });
    const Author = sequelize.define('author', { name: DataTypes.STRING });
    const Book = sequelize.define('book', { title: DataTypes.STRING, price: DataTypes.INTEGER });
    Author.hasMany(Book);
    const authors = await Author.findAll({ order: ['id'] });
    let rows = authors.length;
    for (const author of authors) rows += (await author.getBooks()).length;
    for (let id = 1; id <= 10; id++) {
      rows += (await sequelize.query('select title, price from books where id = $1', { bind: [id], type: 'SELECT' })).length;
    }
    await sequelize.transaction(async (transaction) => {
      for (let id = 1; id <= 3; id++) await Book.increment('price', { where: { id }, transaction });
    });
    await refused(sequelize.query('select nothing from nowhere'));
    rows += (await Author.findAll({ include: { model: Book, separate: true } })).reduce((sum, author) => sum + 1 + author.books.length, 0);
    await sequelize.close();
    return rows;
  },
};

const [job, server] = process.argv[2].split('-');
const client = `${job} ${JSON.parse(require('fs').readFileSync(`${process.env.NODE_PATH}/${job}/package.json`)).version}`;
jobs[job](server === 'postgresql' ? 'postgres' : 'mysql').then((rows) => console.log(JSON.stringify({ client, rows, errors: 1 })));
