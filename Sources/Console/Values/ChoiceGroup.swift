/// A group of options.
package struct ChoiceGroup: ViewModel {
    package let label: String
    package let choices: [Choice]

    package init(label: String, choices: [Choice]) {
        (self.label, self.choices) = (label, choices)
    }
}
