import Testing

@testable import AdminPages

/// Parses the request of a `curl` command.
@Suite struct CurlReaderTests {
    @Test func aCommandIsReadAsAShellReadsIt() throws {
        let command = try CurlReader(
            #"""
            $ curl -s -X 'POST' "http://localhost:8080/database/1/a?b=c&d=%20#frag" \
              -H 'X-One: it'\''s' --header="X-Two:  two" -HX-Three:3 -u admin:x -o /dev/null \
              --data-binary '{"a":"b\n c"}' | jq .
            """#)
        #expect(command.method == "POST" && command.target == "/database/1/a?b=c&d=%20")
        #expect(
            command.header("x-one") == "it's" && command.header("X-TWO") == "two" && command.header("X-Three") == "3")
        #expect(command.body.map { String(decoding: $0, as: UTF8.self) } == #"{"a":"b\n c"}"#)
        #expect(command.variables.isEmpty)
    }

    @Test(arguments: [
        ("curl http://a.example", "GET", "/", ""), ("curl a.example/b", "GET", "/b", ""),
        ("curl http://a?x=1", "GET", "/?x=1", ""),
        ("curl -d a -d b http://a/p", "POST", "/p", "a&b"),
        ("curl -G -d a=1 'http://a/p?q=2'", "GET", "/p?q=2&a=1", ""),
        ("/usr/bin/curl --url http://a/p --data-raw $'x\\ny'", "POST", "/p", "x\ny"),
        ("curl http://a/p --data-raw $'{\"a\":\"it\\\'s\\u0021\\x21\"}'", "POST", "/p", "{\"a\":\"it's!!\"}"),
        ("curl http://a/p --data-raw $'\\U0001F600\\ud83d\\u'", "POST", "/p", "😀ud83du"),
        ("curl http://a/p -d ''", "POST", "/p", ""),
        ("curl http://a/p -d \"say \\\"hi\\\"\"", "POST", "/p", "say \"hi\""),
        ("curl -XDELETE http://a/p\\?x", "DELETE", "/p?x", ""),
        ("curl -sX PUT http://a/p", "PUT", "/p", ""), ("curl -sSXPUT http://a/p", "PUT", "/p", ""),
        ("curl -sGd a=1 http://a/p", "GET", "/p?a=1", ""),
        ("curl --json '{\"a\":1}' https://a/p", "POST", "/p", "{\"a\":1}"),
        ("curl http://a/p --json '{' --json '}'", "POST", "/p", "{}"),
        ("curl --retry-delay 3 -C - --json=1 http://a/p", "POST", "/p", "1"),
        ("curl -so x http://a/p", "GET", "/p", ""),
    ])
    func forms(text: String, method: String, target: String, body: String) throws {
        let command = try CurlReader(text)
        #expect(command.method == method && command.target == target)
        #expect(String(decoding: command.body ?? [], as: UTF8.self) == body)
    }

    @Test(arguments: [
        ("wget http://a", CurlReader.Problem.noCommand), ("", .noCommand), ("curl -H 'a: b'", .noAddress),
        ("curl 'http://a", .openQuotation),
        ("curl \"http://a", .openQuotation), ("curl http://a -d @body.json", .bodyInFile("body.json")),
        ("curl --json @body.json http://a", .bodyInFile("body.json")),
        ("curl --data-urlencode a=b http://a", .unreadOption("--data-urlencode")),
        ("curl http://a -F file=@x", .unreadOption("-F")), ("curl -sT x http://a", .unreadOption("-T")),
        ("curl http://a -Kx", .unreadOption("-K")),
        ("curl http://a --config=x", .unreadOption("--config")),
    ])
    func whatCantBeRead(text: String, problem: CurlReader.Problem) {
        #expect(throws: problem) { try CurlReader(text) }
    }

    /// A form may contain a huge number of options. The time must be linear.
    @Test(.timeLimit(.minutes(5))) func manyOptionsTakeTheirLengthInTime() throws {
        let many = 200_000
        let command = try CurlReader(
            "curl http://a/p" + String(repeating: " -Ha:b", count: many) + String(repeating: " --data=x", count: many))
        #expect(command.headers.count == many && command.body?.count == 2 * many - 1)
    }

    @Test func variablesAreNamed() throws {
        #expect(
            try CurlReader("curl \"http://a$target\" -H \"Date: ${date}\" -H 'cost: $5'").variables == [
                "$target", "$date",
            ])
    }
}
