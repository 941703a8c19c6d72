import Foundation

/// The files of an asset store on disk.
enum AssetFiles {
    /// The paths of the complete files of all stores in a data folder.
    static func stored(in folder: URL) throws -> [String] {
        try all(in: folder).filter { !$0.contains("/incoming/") }
    }

    /// The paths of uploads in progress.
    static func incoming(in folder: URL) throws -> [String] {
        try all(in: folder).filter { $0.contains("/incoming/") }
    }

    private static func all(in folder: URL) throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))
        return paths.filter { path in
            var isFolder: ObjCBool = false
            let file = folder.appending(path: path).path(percentEncoded: false)
            return path.contains(".assets/") && FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    /// A body in HTTP chunks of odd sizes.
    static func chunked(_ bytes: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        var rest = bytes[...]
        var size = 1
        while !rest.isEmpty {
            let chunk = rest.prefix(size)
            body += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
            rest = rest.dropFirst(size)
            size = size * 3 % 9973 + 1
        }
        return body + Array("0\r\n\r\n".utf8)
    }
}
