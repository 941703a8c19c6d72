internal import Foundation
internal import RecordStore
internal import Records

/// A container and environment. Each one has its own file.
struct StoreKey: Hashable, Sendable, CustomStringConvertible {
    let container: ContainerID
    let environment: Records.Environment

    /// Path of the file, relative to the data folder.
    var description: String { "\(container)/\(fileName)" }
    var fileName: String { "\(environment.rawValue).sqlite" }

    func folder(in data: URL) -> URL { data.appending(path: container.description, directoryHint: .isDirectory) }
    func file(in data: URL) -> URL { folder(in: data).appending(path: fileName, directoryHint: .notDirectory) }
}
