import ExampleSupport
import Foundation
import RemoteRecords

/// A copy of a user's private database in a folder: a folder for each zone, with a file for each record and each of its
/// files. The next backup gets only changes. If a zone has to be copied anew, the copy before stays as `.old`.
@main struct ContainerBackup {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { Connection.explain("container-backup FOLDER") }
        let folder = URL(filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
        let client = try Connection.client()
        let database = Container(client).privateCloudDatabase
        // No zone's folder has this name.
        let tokens = try TokenStore(folder.appending(path: "tokens.json"))
        for zone in try await database.allRecordZones() where !zone.zoneID.isDefault {
            let name = zone.zoneID.zoneName.string
            let backup = folder.appending(path: fileName(name), directoryHint: .isDirectory)
            let (saved, deleted) = try await backUp(zone.zoneID, of: database, tokens, to: backup)
            print("\(name): \(saved) saved, \(deleted) deleted")
        }
        await client.close()
    }

    static func backUp(_ zoneID: ZoneID, of database: Database, _ tokens: TokenStore, to backup: URL) async throws -> (
        saved: Int, deleted: Int
    ) {
        let (new, old) = (backup.appendingPathExtension("new"), backup.appendingPathExtension("old"))
        var count = (saved: 0, deleted: 0)
        try await tokens.fetchChanges(of: zoneID, in: database) { page, isFromTheBeginning in
            let files = FileManager.default
            // Nobody knows which records were deleted before: a new copy begins.
            if isFromTheBeginning {
                try? files.removeItem(at: new)
                try files.createDirectory(at: new, withIntermediateDirectories: true)
            }
            // One that was broken off goes on.
            let isNew = files.fileExists(atPath: new.path(percentEncoded: false))
            let folder = isNew ? new : backup
            for (_, result) in page.modifications { try await save(try result.get(), of: database, in: folder) }
            for deletion in page.deletions { try? files.removeItem(at: place(of: deletion.recordID, in: folder)) }
            count.saved += page.modifications.count
            count.deleted += page.deletions.count
            if isNew, !page.moreComing {
                try? files.removeItem(at: old)
                try? files.moveItem(at: backup, to: old)
                try files.moveItem(at: new, to: backup)
            }
        }
        return count
    }

    static func save(_ record: Record, of database: Database, in folder: URL) async throws {
        let place = place(of: record.recordID, in: folder)
        try? FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        for (key, content) in record.fields {
            for (number, file) in content.files.enumerated() {
                try await database.download(file, to: place.appending(path: "\(fileName(key.string))-\(number)"))
            }
        }
        try Data(record.encoded).write(to: place.appending(path: "record.json"), options: .atomic)
    }

    static func place(of recordID: RecordID, in folder: URL) -> URL {
        folder.appending(path: "records/\(fileName(recordID.recordName.string))", directoryHint: .isDirectory)
    }

    /// Names may have slashes, letters that a file system does not tell apart, and more letters than a file's name.
    static func fileName(_ name: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)
        let letters = name.utf8.map { byte in
            plain.contains(byte) ? String(UnicodeScalar(byte)) : "-\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
        }.joined()
        if letters.utf8.count <= 200 { return letters }
        let hash = name.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return "\(letters.prefix(180))--\(String(hash, radix: 16))"
    }
}
