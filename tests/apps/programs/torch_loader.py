# SPDX-License-Identifier: Apache-2.0
"""A torch DataLoader, whose two workers make the items."""
from torch.utils.data import DataLoader, Dataset

from truth import burn_cpu, note, timed


def decode():
    burn_cpu(.1)


class Items(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        timed(decode)
        return number


note(role="root")
for batch in DataLoader(Items(), num_workers=2):
    pass
