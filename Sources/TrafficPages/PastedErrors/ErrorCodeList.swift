internal import Console
internal import Workbench

/// The codes of one family, as a table.
struct ErrorCodeList: ViewModel {
    struct Code: ViewModel {
        let number: String?
        /// True if the family has numbers. A single code may lack one.
        let hasNumber: Bool
        let name: String
        let meaning: String
        let remedy: String
        let retry: String
        /// The text that the filter of the table searches.
        let words: String

        func child(named name: String) -> Any? {
            switch name {
            case "number": number ?? Absent()
            case "hasNumber": hasNumber
            case "name": self.name
            case "meaning": meaning
            case "remedy": remedy
            case "retry": retry
            case "words": words
            default: nil
            }
        }
    }

    let title: String
    let note: String
    /// The title of the first column; `nil` for families without numbers.
    let numberTitle: String?
    let codes: [Code]

    /// - Parameter find: the search words. A code must contain all of them.
    static func all(matching find: String) -> [ErrorCodeList] {
        let words = find.lowercased().split(separator: " ")
        func list(_ title: String, _ note: String, _ number: String?, _ codes: [ErrorCode]) -> ErrorCodeList {
            ErrorCodeList(
                title: title, note: note, numberTitle: number,
                codes: codes.map { Code($0) }.filter { code in words.allSatisfy { code.words.contains($0) } })
        }
        return [
            list("CKError of CloudKit.framework", "CKErrorDomain, by number.", "code", ErrorCode.framework),
            list("serverErrorCode of the web services", "With the status of a request that fails as a whole. The error of a single item is in a response with status 200.", "HTTP", ErrorCode.server),
            list("ckErrorCode of CloudKit JS", "Errors that the library itself reports.", nil, ErrorCode.javaScript),
        ]
    }
}

extension ErrorCodeList.Code {
    fileprivate init(_ code: ErrorCode) {
        number = (code.number ?? code.status).map { String($0) }
        hasNumber = code.family != .javaScript
        name = code.name
        meaning = code.meaning
        remedy = code.remedy
        retry = code.retry.title
        words = [number ?? "", code.name, code.title, code.meaning, code.remedy].joined(separator: " ").lowercased()
    }
}
