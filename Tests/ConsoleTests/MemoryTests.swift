import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Records
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing

/// Memory use of pages and files under load.
@Suite("Memory for pages", .timeLimit(.minutes(10)))
struct MemoryTests {
    @Test("Records for which there is no room are not fetched: page and file say when to ask again")
    func noRoom() async throws {
        let budget = MemoryBudget()
        try await EditStage.run(memory: budget) { stage in
            try await stage.save(
                "large", ["title": .string(String(repeating: "x", count: 100_000)), "rank": .int64(1)])
            let paths = [
                "fetch?zone=Notes&names=large", "fetch.json?zone=Notes&names=large", "query.json?type=Note&zone=Notes",
                "query.json?type=Note&zone=Notes&all=1",
            ]
            for path in paths {
                budget.count(MemoryBudget.defaultLimit)
                let refused = try await stage.get(path)
                #expect(refused.status == .serviceUnavailable && refused.headers[.retryAfter] == "2", "\(path)")
                #expect(String(buffer: refused.body).contains("--transfer-memory"), "\(path)")
                #expect(budget.takenBytes == MemoryBudget.defaultLimit)
                budget.giveBack(MemoryBudget.defaultLimit)
                #expect(try await stage.get(path).status == .ok, "\(path)")
                #expect(budget.takenBytes == 0, "\(path)")
            }
        }
    }

    /// Work that runs until it is released.
    private final class Work: Sendable {
        private let begun = Atomic(0)
        private let isOver = Atomic(false)

        var count: Int { begun.load(ordering: .relaxed) }

        func run() {
            begun.add(1, ordering: .relaxed)
            while !isOver.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.005) }
        }

        func end() { isOver.store(true, ordering: .relaxed) }
    }

    @Test("A file is not held while its preview waits for its turn")
    func preview() async throws {
        let budget = MemoryBudget()
        let work = Work()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { work.end() }
            // Both places are taken.
            for _ in 0..<2 { group.addTask { try await WorkPool.lengthy.run { work.run() } } }
            try await eventually { work.count == 2 }
            try await EditStage.run(memory: budget) { stage in
                let rows = "title\n" + String(repeating: String(repeating: "x", count: 999) + "\n", count: 1000)
                async let answer = stage.send(
                    "importing/preview?zone=Notes", [("type", "Note")], file: rows, named: "rows.csv")
                try await eventually { budget.returnedBytes >= rows.utf8.count && budget.takenBytes == 0 }
                work.end()
                let page = EditStage.text(try await answer)
                #expect(page.contains("rows.csv") && page.contains("1,000 rows will become records"))
            }
            try await group.waitForAll()
        }
    }
}
