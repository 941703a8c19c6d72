import Foundation
import Records
import Testing

@Suite struct HelpTests {
    @Test(arguments: [
        [], ["serve"], ["as-icloud"], ["connect"], ["connections"], ["disconnect"], ["import"], ["schema"],
        ["schema", "export"],
        ["schema", "import"], ["schema", "validate"], ["schema", "diff"],
        ["schema", "deploy"], ["schema", "reset"], ["zone"], ["zone", "list"], ["zone", "share"], ["zone", "unshare"],
        ["zone", "delete"],
        ["zone", "purge"], ["export"], ["query"], ["fetch"], ["changes"],
        ["subscriptions"], ["subscriptions", "list"], ["subscriptions", "create"], ["subscriptions", "delete"],
        ["notifications"], ["token"], ["token", "explain"], ["token", "expire"],
        ["token", "create-api"], ["token", "create-web-auth"], ["token", "list"], ["token", "revoke"], ["key"],
        ["key", "register"], ["key", "list"],
        ["key", "revoke"], ["user"], ["user", "list"], ["user", "remove"], ["admin"], ["admin", "set-password"],
        ["rehearse"], ["rehearse", "list"], ["rehearse", "start"], ["rehearse", "stop"], ["check"], ["mirror"],
        ["push"],
        ["snapshot"], ["snapshot", "save"], ["snapshot", "list"], ["snapshot", "compare"], ["snapshot", "restore"],
        ["snapshot", "delete"],
        ["snapshot", "export"], ["snapshot", "import"], ["move"], ["assets"], ["assets", "verify"],
        ["assets", "sweep"],
    ])
    func everyCommandExplainsItself(command: [String]) async throws {
        let result = try await Command.run(command + ["--help"])
        #expect(result.status == 0)
        #expect(result.output.contains("OVERVIEW: "))
        let isGroup = [
            ["schema"], ["zone"], ["subscriptions"], ["token"], ["rehearse"], ["key"], ["user"], ["admin"],
            ["snapshot"], ["assets"],
        ].contains(command)
        #expect(
            isGroup
                || result.output.contains(
                    "skylight \((command.first.map { _ in command } ?? ["serve"]).joined(separator: " "))")
        )
        // Every option must have a help text.
        let lines = result.output.split(separator: "\n")
        for (line, next) in zip(lines, lines.dropFirst()) where line.contains(/^ +(--[a-z-]+|<[a-z]+>)( <[^>]+>)?$/) {
            #expect(next.hasPrefix(String(repeating: " ", count: 20)), "An option without a word: \(line)")
        }
    }

    @Test("The version is the first of the change log")
    func version() async throws {
        let result = try await Command.run(["--version"])
        #expect(result.status == 0 && result.output == "skylight \(SkylightVersion.current)\n")
        let changes = try String(
            contentsOf: URL(filePath: #filePath).appending(path: "../../../CHANGELOG.md").standardized, encoding: .utf8)
        #expect(changes.firstMatch(of: /\n## (.*)\n/)?.output.1 == SkylightVersion.current[...])
    }
}
