internal import Accounts
internal import Console
internal import Foundation
internal import HTTPServing
internal import JSON
internal import Records

/// The page that checks the signature of a pasted request, and shows the message that the signature should cover.
struct SignatureView: Page {
    static let template = "signature"
    static let tab = Tab.signature

    struct Part: ViewModel {
        let name: String
        let text: String
        let note: String?
    }

    struct Result: ViewModel {
        /// `nil` if the diagnosis contains it.
        let verdict: String?
        /// `good`, `bad` or `plain`.
        let tone: String
        let diagnosis: Diagnosis?
        /// True if the page lists the parts. A diagnosis lists them itself.
        let isLaidOut: Bool
        let parts: [Part]
        let message: String
        /// Remarks that do not concern the signature.
        let remarks: [String]
    }

    let title = Self.tab.title
    let action: String
    let form: SignatureForm
    let complaint: Complaint?
    let result: Result?
    let milliseconds: String

    static func load(_ visit: Visit) throws -> SignatureView { SignatureView(SignatureForm(), nil, nil, visit) }

    static func check(_ visit: Visit) async throws -> SignatureView {
        do {
            let fields = visit.fields
            let length = fields.pairs.reduce(0) { $0 + $1.value.utf8.count }
            let form = try await WorkPool.prompt.run(on: length) { try SignatureForm(fields) }
            guard form.target.hasPrefix("/") else {
                throw RecordError(.badRequest, "The path of the request is missing; enter it from /database on, with its query")
            }
            return SignatureView(form, try await Result.of(form, visit), nil, visit)
        } catch let error as RecordError where error.code == .badRequest {
            var form = SignatureForm()
            form.keep(visit.fields)
            return SignatureView(form, nil, Complaint(error), visit)
        }
    }

    private init(_ form: SignatureForm, _ result: Result?, _ complaint: Complaint?, _ visit: Visit) {
        action = visit.place.link("keys/signature")
        self.form = form
        self.result = result
        self.complaint = complaint
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }
}
