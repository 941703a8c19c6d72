/// The progress of a job that runs in the background, and its end.
package struct JobProgress: Component {
    package static let template = "job_progress"

    /// How much is done.
    package struct Bar: ViewModel {
        let label: String
        let done: String
        let total: String
        /// `nil` if the total is only guessed.
        let percent: String?

        package init(_ label: String, done: Int, of total: Int, percent: Int?) {
            (self.label, self.done, self.total) = (label, String(done), String(total))
            self.percent = percent.map(String.init)
        }
    }

    package struct Figure: ViewModel {
        let name: String
        let value: String
        let note: String?
        let tone: String?

        package init(_ name: String, _ value: String, note: String? = nil, tone: String? = nil) {
            (self.name, self.value, self.note, self.tone) = (name, value, note, tone)
        }
    }

    /// How a job is, or how it ended.
    package enum Outcome: Sendable {
        case running(String = "running")
        case good(String = "done")
        case warn(String)
        case bad(String = "failed")

        fileprivate var words: (text: String, tone: String) {
            switch self {
            case .running(let text): (text, "modified")
            case .good(let text): (text, "good")
            case .warn(let text): (text, "warn")
            case .bad(let text): (text, "bad")
            }
        }
    }

    let id: String
    /// What is said when the job has ended; `nil` if it has.
    let announcement: String?
    /// True if the end changes the rest of the page, too.
    let reloads: Bool
    let state: String
    let tone: String
    let phase: Inline?
    let bar: Bar?
    let figures: [Figure]
    let parts: [any Component]

    package var isLive: Bool { announcement != nil }

    package init(
        _ id: String, _ outcome: Outcome, announcement: String, reloads: Bool, phase: Inline? = nil, bar: Bar?,
        _ figures: [Figure], _ parts: [any Component]
    ) {
        self.id = id
        self.announcement = if case .running = outcome { announcement } else { nil }
        (state, tone) = outcome.words
        (self.reloads, self.phase, self.bar, self.figures, self.parts) = (reloads, phase, bar, figures, parts)
    }
}

/// Numbers in large type.
package struct Figures: Component {
    package static let template = "figures"

    let figures: [JobProgress.Figure]

    package init(_ figures: [JobProgress.Figure]) { self.figures = figures }
}
