import Accounts
import AssetStore
import ConsolePages
import Foundation
import HTTPTypes
import InMemoryRecordStore
import TestSupport
import Testing

@testable import Console

/// The table of routes, against what is written about it elsewhere.
@Suite struct RouteTableTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private static let place = "/c/{container}/{environment}/{database}"

    private static func rows() throws -> [ConsoleRoute] {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine()
        return RouteTable(
            try Console(
                engine: engine, accounts: try Accounts(file: nil),
                assets: AssetStores(folder: folder.url, engine: engine), templatesFolder: nil, publicFolder: nil)
        ).rows
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: tests.appending(path: path), encoding: .utf8)
    }

    /// A new page has to be looked at in a browser, or to name the test that looks at it.
    @Test func testsAskForEveryAddress() throws {
        let pages = try Self.text("Browser/pages.py")
        let parts = pages.split(separator: "ELSEWHERE = {")
        try #require(parts.count == 2)
        // Such as: "query of nothing": CHAT.replace("private", "shared") + "/query?type=…",
        let samples = parts[0].matches(of: /(?m)^    ".*?": (.*?)"(\/[^"?#]*)[^"]*",$/).map { sample in
            sample.output.1.isEmpty ? String(sample.output.2) : Self.place + sample.output.2
        }
        #expect(samples.count > 100)
        var addresses = Set(samples)
        for entry in parts[1].matches(of: /(?m)^    "(.*?)": "(.*?)",$/) {
            let (path, test) = (String(entry.output.1), String(entry.output.2))
            #expect(try Self.text(test).contains(path.prefix { $0 != "{" }), "\(test) does not ask for \(path)")
            let isNew = addresses.insert(path.hasPrefix("/") ? path : "\(Self.place)/\(path)").inserted
            #expect(isNew, "\(path) is in both lists")
        }
        #expect(addresses == Set(try Self.rows().filter { $0.method == .get }.map(\.pattern)))
    }

    /// Tests in Python read the table as text.
    @Test func everyRowIsALine() throws {
        let table = try Self.text("../Sources/ConsolePages/Routes.swift")
        let lines = table.matches(of: /(?m)^ +\.(\w+)\("([^"]*)", .*\),$/).map { line in
            let path = String(line.output.2)
            let isRead = ["page", "answer", "file", "get"].contains(line.output.1)
            return "\(isRead ? "GET" : "POST") \(path.hasPrefix("/") ? path : "\(Self.place)/\(path)")"
        }
        #expect(lines == (try Self.rows().map { "\($0.method.rawValue) \($0.pattern)" }))
    }

    @Test func everyTabIsAPage() throws {
        let pages = Set(try Self.rows().filter { $0.method == .get }.map(\.pattern))
        for tab in Tab.allCases where tab != .home {
            #expect(pages.contains("\(Self.place)/\(tab.rawValue)"), "\(tab)")
        }
    }

    /// A form has a limit, and only a form.
    @Test func everyFormHasALimit() throws {
        for row in try Self.rows() { #expect((row.method == .post) == (row.limit != nil), "\(row.pattern)") }
    }
}
