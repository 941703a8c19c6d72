internal import CEmbeddedFiles

/// The files of `Templates` and `Public` in the binary, by name. Each call copies them, because they are needed once.
enum EmbeddedFiles {
    static var templates: [String: [UInt8]] { files(embedded_templates()) }
    static var staticFiles: [String: [UInt8]] { files(embedded_public()) }

    private static func files(_ list: UnsafePointer<embedded_file>?) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        var next = list
        while let file = next?.pointee, let name = file.name, let text = file.text {
            files[String(cString: name)] = Array(String(cString: text).utf8)
            next = next?.advanced(by: 1)
        }
        return files
    }
}
