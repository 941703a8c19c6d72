internal import Console
internal import Records
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
        /// When to retry, or how sure the cause is.
        let last: String
        /// The text that the filter of the table searches; empty if all of it is in the row.
        let words: String
        /// The text that the filter searches without scripts.
        let searched: String

        func child(named name: String) -> Any? {
            switch name {
            case "number": number ?? Absent()
            case "hasNumber": hasNumber
            case "name": self.name
            case "meaning": meaning
            case "remedy": remedy
            case "last": last
            case "words": words
            default: nil
            }
        }
    }

    let title: String
    let note: String
    /// The title of the first column; `nil` for families without numbers.
    let numberTitle: String?
    let lastTitle: String
    let codes: [Code]

    /// - Parameter find: the search words. A code must contain all of them.
    static func all(matching find: String) -> [ErrorCodeList] {
        let words = find.lowercased().split(separator: " ")
        func list(_ title: String, _ note: String, _ number: String?, last: String = "retry?", _ codes: [Code]) -> ErrorCodeList {
            ErrorCodeList(
                title: title, note: note, numberTitle: number, lastTitle: last,
                codes: codes.filter { code in words.allSatisfy { code.searched.contains($0) } })
        }
        return [
            list("CKError of CloudKit.framework", "CKErrorDomain, by number.", "code", ErrorCode.framework.map { Code($0) }),
            list(
                "serverErrorCode of the web services",
                "With the status of a request that fails as a whole. The error of a single item is in a response with status 200.", "HTTP",
                ErrorCode.server.map { Code($0) }),
            list(
                "CKInternalErrorDomain", "The second number, as in (15/2000). Apple documents none of them; these are quoted in public logs.", "number",
                ErrorCode.internal.map { Code($0) }),
            list("ckErrorCode of CloudKit JS", "Errors that the library itself reports.", nil, ErrorCode.javaScript.map { Code($0) }),
            list(
                "Messages of CloudKit", "With the number of the CKError. Skylight sends many of them too; its own messages are explained when they are pasted.", "CKError",
                last: "how sure", KnownReason.allCases.filter { $0.evidence != .skylight }.map { Code($0) }),
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
        last = code.retry.title
        searched = [number ?? "", code.name, code.title, code.meaning, code.remedy, last].joined(separator: " ").lowercased()
        // The title of a framework code is not in its row: changeTokenExpired is also found as Change Token Expired.
        words = code.family == .framework ? searched : ""
    }

    fileprivate init(_ known: KnownReason) {
        number = known.framework.map { String($0) }
        hasNumber = true
        name = known.texts.joined(separator: " · ")
        meaning = known.cause
        remedy = known.remedy
        last = known.evidence.title
        words = ""
        searched = [number ?? "", name, meaning, remedy, last].joined(separator: " ").lowercased()
    }
}
