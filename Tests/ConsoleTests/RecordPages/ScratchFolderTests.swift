import Foundation
import TestSupport
import Testing

@testable import RecordPages

/// Temporary folders: they end with their owner, and the next sweep removes abandoned ones.
@Suite struct ScratchFolderTests {
    private let parent: TemporaryFolder

    init() throws { parent = try TemporaryFolder() }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: parent.url.path(percentEncoded: false)).sorted()
    }

    private func leave(_ name: String, lock: Bool = true) throws {
        let folder = parent.url.appending(path: name, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(
            at: folder.appending(path: "upload", directoryHint: .isDirectory), withIntermediateDirectories: true)
        try Data("rows".utf8).write(to: folder.appending(path: "upload/rows.csv"))
        if lock { try Data().write(to: parent.url.appending(path: name + ".lock")) }
    }

    @Test func aFolderIsThereWhileSomebodyHasIt() throws {
        var folder: ScratchFolder? = ScratchFolder(prefix: "kind-", in: parent.url)
        #expect(try names().isEmpty, "nothing is made before it is asked for")
        let url = try #require(try folder?.url())
        #expect(try folder?.url() == url)
        let permissions =
            try FileManager.default.attributesOfItem(atPath: url.path(percentEncoded: false))[.posixPermissions] as? Int
        #expect(permissions == 0o700)
        try Data("rows".utf8).write(to: url.appending(path: "rows.csv"))
        // A sweep leaves folders in use alone.
        ScratchFolder(prefix: "kind-", in: parent.url).sweep()
        #expect(
            try names().count == 2
                && FileManager.default.fileExists(atPath: url.appending(path: "rows.csv").path(percentEncoded: false)))
        folder = nil
        #expect(try names().isEmpty)
    }

    @Test func whatWasLeftIsSweptAndNothingElse() throws {
        try leave("kind-dead")
        try Data().write(to: parent.url.appending(path: "kind-folderless.lock"))
        try leave("other-dead")
        try leave("kind-unlocked", lock: false)
        let outside = try TemporaryFolder()
        try Data("precious".utf8).write(to: outside.url.appending(path: "file"))
        try FileManager.default.createSymbolicLink(
            at: parent.url.appending(path: "kind-link.lock"), withDestinationURL: outside.url.appending(path: "file"))
        try FileManager.default.createSymbolicLink(
            at: parent.url.appending(path: "kind-linked"), withDestinationURL: outside.url)
        try Data().write(to: parent.url.appending(path: "kind-linked.lock"))
        ScratchFolder(prefix: "kind-", in: parent.url).sweep()
        #expect(try names() == ["kind-link.lock", "kind-unlocked", "other-dead", "other-dead.lock"])
        #expect(FileManager.default.fileExists(atPath: outside.url.appending(path: "file").path(percentEncoded: false)))
    }

    /// Earlier versions made folders without a lock.
    @Test func whatHasNoLockIsSweptWhenItIsOld() throws {
        let (old, young) = ("kind-\(UUID().uuidString)", "kind-\(UUID().uuidString)")
        let names = [old, young, "kind-mine", "other-\(UUID().uuidString)"]
        for name in names { try leave(name, lock: false) }
        let long = Date(timeIntervalSinceNow: -90_000)
        for name in names where name != young {
            try FileManager.default.setAttributes(
                [.modificationDate: long], ofItemAtPath: parent.url.appending(path: name).path(percentEncoded: false))
        }
        ScratchFolder(prefix: "kind-", in: parent.url).sweep()
        #expect(try self.names() == names.filter { $0 != old }.sorted())
    }

    @Test func whatIsRemovedIsMadeAnew() throws {
        let folder = ScratchFolder(prefix: "kind-", in: parent.url)
        let first = try folder.url()
        folder.remove()
        #expect(try names().isEmpty)
        #expect(try folder.url() != first && names().count == 2)
    }

    @Test func manyAtOnceLoseNothing() async throws {
        let parent = parent.url
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<24 {
                group.addTask {
                    let folder = ScratchFolder(prefix: "kind-", in: parent)
                    if number % 2 == 0 { folder.sweep() }
                    let file = try folder.url().appending(path: "rows.csv")
                    try Data("rows".utf8).write(to: file)
                    ScratchFolder(prefix: "kind-", in: parent).sweep()
                    return FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
                }
            }
            for try await isThere in group { #expect(isThere) }
        }
        #expect(try names().isEmpty)
    }
}
