#if PostgreSQL
    import Testing

    @testable import SQLRecordStore

    /// Addresses of databases, without a server.
    @Suite struct PostgreSQLAddressTests {
        private func failure(_ address: String) throws -> SQLError {
            try #require(throws: SQLError.self) { try PostgreSQLConnection(address) }
        }

        /// libpq says in its errors what it can't read.
        @Test(arguments: [
            "postgres://u:50%hush@127.0.0.1:1/x", "postgres://u:a@hush@127.0.0.1:1/x", "postgres://u:hush@[::1]x/y",
            "postgres://u:hush/a@127.0.0.1:1/x",
            "postgres://u:1/hush@127.0.0.1:1/x", "postgres://u:a@hush/a@127.0.0.1:1/x",
            "postgres://u:a@hush?a@127.0.0.1:1/x", "postgres://u:hush",
            "postgre://u:hush@localhost/x?a=b", "host=127.0.0.1 port=1 password=my hush",
            "postgres://u:a@b,hush@127.0.0.1:1/x",
        ])
        func whatCannotBeReadIsNotRepeated(address: String) throws {
            let error = try failure(address)
            #expect(error.cause == .cannotOpen)
            #expect(error.message == SQLError.unreadableAddress.message)
            #expect(error.message.contains("%25 %40 %3A %2F"))
        }

        @Test func aTextThatIsNoAddressIsNotRepeated() throws {
            let error = try failure("hush")
            #expect(error.cause == .cannotOpen)
            #expect(error.message.contains("begins with postgres://") && !error.message.contains("hush"))
        }

        @Test(
            arguments: [
                ("postgres://u:50%25@127.0.0.1:1/x", ["host": "127.0.0.1", "port": "1", "password": "50%"]),
                (
                    "postgres://u:a%40b%3Ac%2Fd@127.0.0.1:1/x%40y",
                    ["host": "127.0.0.1", "port": "1", "password": "a@b:c/d", "dbname": "x@y"]
                ),
                (
                    "postgres://u:a?b=c:d#e@[::1]:1,127.0.0.1:2/x?user=v@w",
                    ["host": "::1,127.0.0.1", "port": "1,2", "password": "a?b=c:d#e", "user": "v@w"]
                ),
                ("postgresql://u@db1,db2:5432/x", ["host": "db1,db2", "port": ",5432"]),
                ("postgres:///x?host=@pg", ["host": "@pg", "dbname": "x"]),
                ("host=127.0.0.1 password='a@b/c' port=1", ["host": "127.0.0.1", "port": "1", "password": "a@b/c"]),
            ] as [(String, [String: String])])
        func whatCanBeReadIs(address: String, parameters: [String: String]) throws {
            let found = try PostgreSQLAddress.parameters(of: address)
            for (name, value) in parameters { #expect(found[name] == value, "\(name)") }
        }

        /// A database that does not answer may do so later.
        @Test(arguments: ["postgres://u:hush@127.0.0.1:1/x", "postgres://u:hush@127.0.0.1:1,[::1]:1/x"])
        func anUnreachableServerIsReportedWithoutThePassword(address: String) throws {
            let error = try failure(address)
            #expect(error.cause == .connectionLost)
            #expect(error.message.contains("127.0.0.1") && !error.message.contains("hush"))
            #expect(
                error.isForLog && !error.reason.contains("127.0.0.1"), "clients need not know where the database is")
        }
    }
#endif
