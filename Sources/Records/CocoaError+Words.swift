public import Foundation

// Foundation describes errors of the file system by domains and codes. These are the operating system's words.

extension CocoaError {
    /// The file's path, if it is known, and what is wrong: `'/data/a': No such file or directory`.
    public var words: String {
        let reason =
            switch underlying {
            case let error as CocoaError: error.words
            case let error as POSIXError: error.words
            case let error?: "\(error)"
            case nil: localizedDescription
            }
        return (filePath ?? url?.path(percentEncoded: false)).map { "'\($0)': \(reason)" } ?? reason
    }
}

extension POSIXError {
    /// The system's text for the code: `No such file or directory`.
    public var words: String { String(cString: strerror(code.rawValue)) }
}
