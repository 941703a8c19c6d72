/// A request as client code: in Swift with both of its APIs, in CloudKit JS, and as a shell command.
package struct CodePanel: ViewModel {
    /// `This query as code`.
    package let title: String
    package let samples: [CodeSample]

    package init(title: String, samples: [CodeSample]) {
        (self.title, self.samples) = (title, samples)
    }
}
