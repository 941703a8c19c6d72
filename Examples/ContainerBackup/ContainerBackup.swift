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
        for zone in try await database.allRecordZones() where !zone.zoneID.isDefault {
            let name = zone.zoneID.zoneName.string
            let (saved, deleted) = try await backUp(
                zone.zoneID, of: database, to: folder.appending(path: fileName(name), directoryHint: .isDirectory))
            print("\(name): \(saved) saved, \(deleted) deleted")
        }
        await client.close()
    }

    static func backUp(_ zoneID: ZoneID, of database: Database, to backup: URL) async throws -> (
        saved: Int, deleted: Int
    ) {
        // A new copy that was broken off goes on.
        let new = backup.appendingPathExtension("new")
        let isNew = FileManager.default.fileExists(atPath: new.path(percentEncoded: false))
        let folder = isNew ? new : backup
        let tokenFile = folder.appending(path: "token")
        var token = (try? String(contentsOf: tokenFile, encoding: .utf8)).map { SyncToken($0) }
        var count = (saved: 0, deleted: 0)
        while true {
            let page: Database.RecordZoneChanges
            do throws(OperationError) {
                page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            } catch {
                guard error.code == .changeTokenExpired, token != nil, count == (0, 0) else { throw error }
                // Nobody knows which records were deleted since: everything comes again.
                if isNew { try FileManager.default.removeItem(at: new) }
                try FileManager.default.createDirectory(at: new, withIntermediateDirectories: true)
                return try await backUp(zoneID, of: database, to: backup)
            }
            for (_, result) in page.modifications {
                try await save(try result.get(), of: database, in: folder)
                count.saved += 1
            }
            for deletion in page.deletions {
                try? FileManager.default.removeItem(at: place(of: deletion.recordID, in: folder))
                count.deleted += 1
            }
            // After the page: a backup that is broken off gets the page again.
            token = page.changeToken
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(page.changeToken.text.utf8).write(to: tokenFile, options: .atomic)
            if !page.moreComing { break }
        }
        if isNew {
            let old = backup.appendingPathExtension("old")
            try? FileManager.default.removeItem(at: old)
            try? FileManager.default.moveItem(at: backup, to: old)
            try FileManager.default.moveItem(at: new, to: backup)
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
